"""Kaldi formats: archives, tables, data directories, PLDA models and transforms."""
