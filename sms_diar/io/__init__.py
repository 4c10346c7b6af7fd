"""Formats: bytes to values and back, one file each; no arithmetic."""
