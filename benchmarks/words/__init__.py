"""Speakers of words in simulated transcripts, by the model and by other rules."""
