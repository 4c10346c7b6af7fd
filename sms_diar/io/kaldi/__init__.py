"""Kaldi formats: archives, tables, data directories, options and models."""
