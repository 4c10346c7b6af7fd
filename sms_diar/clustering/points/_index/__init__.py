"""Exact sums over neighbours without looking at every point."""
