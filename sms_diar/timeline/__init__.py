"""Arithmetic on times: ticks, windows, regions, turns and their names."""
