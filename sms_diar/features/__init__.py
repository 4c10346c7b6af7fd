"""Waveforms to frames: MFCC, derivatives, normalisation, speech detection.

Start at :class:`sms_diar.features.front_end.FrontEnd`, the settings;
:func:`sms_diar.features.frames.frames_of` applies them to one recording,
:func:`sms_diar.features.extract.features_of_segments` to a data directory.
"""
