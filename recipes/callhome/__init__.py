"""Diarize and score each recording of a data directory."""
