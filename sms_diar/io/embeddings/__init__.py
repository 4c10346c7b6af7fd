"""Embedding files: NumPy, tables, Kaldi archives and other toolkits."""
