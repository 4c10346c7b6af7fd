"""Functions that users call; each one combines several stages of the package.

There is a folder for each verb: ``diarize``, ``identify`` (names across recordings),
``cluster``, ``score``, ``train`` (features, i-vectors, PLDA models), ``simulate`` and
``page`` (the HTML report). The function that `sms_diar` exports under a verb's name is
in ``api``. ``audio`` resolves and decodes recordings, ``memory`` predicts how much
memory a computation needs, and ``context`` has what all functions pass on: workers,
progress and limits.
"""
