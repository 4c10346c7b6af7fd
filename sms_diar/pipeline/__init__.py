"""What users call: stages strung together.

``diarize``, ``cluster``, ``score`` and ``simulate`` hold the functions that `sms_diar`
offers under these names; ``extraction``, ``training``, ``features``, ``plda`` and
``trials`` do what the commands ``ivectors``, ``features`` and ``plda`` do. ``models``
reads models and chooses back ends, ``sources`` finds recordings, ``passages`` finds the
speech of each speaker.
"""
