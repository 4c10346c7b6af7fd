"""Speaker diarization of recordings.

``api`` has `sms_diar.diarize`. ``models`` chooses a model, ``neural`` and ``ivectors``
diarize a recording with it, ``channels`` treats every channel as a speaker, and
``result`` has the values that they return. ``voices`` turns clusters of windows into
turns; `NEURAL.md` explains its steps.
"""
