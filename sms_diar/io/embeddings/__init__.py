"""Embedding files: NumPy, tables, JSON lines, Parquet and Kaldi archives."""
