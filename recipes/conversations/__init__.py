"""Diarization of corpora of conversations in common layouts."""
