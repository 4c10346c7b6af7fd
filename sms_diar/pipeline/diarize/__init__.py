"""Speaker diarization of recordings.

``api`` has `sms_diar.diarize`. ``models`` chooses a diarizer (``diarizer`` says what
that is): ``neural`` or ``ivectors``. ``result`` has the values that they return.
``voices`` turns clusters of windows into turns; `NEURAL.md` explains its steps.
"""
