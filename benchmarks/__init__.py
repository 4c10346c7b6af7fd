"""Measurements of speed and of methods, and what fits shipped weights."""
