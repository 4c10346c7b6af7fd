"""Spoken digits, from audio to the embedded model and the speaker table."""
