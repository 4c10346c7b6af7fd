"""Experiments of the paper and comparisons: what knows a corpus or a table."""
