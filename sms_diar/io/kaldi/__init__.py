"""Kaldi's own formats: arks, tables, data directories, PLDA models."""
