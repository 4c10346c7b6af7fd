"""Waveforms to frames: MFCC, derivatives, normalisation, speech detection.

Start at :class:`sms_diar.features.front_end.FrontEnd`, the settings, and
:func:`sms_diar.features.extract.features_of_segments`, which applies them to a
data directory.
"""
