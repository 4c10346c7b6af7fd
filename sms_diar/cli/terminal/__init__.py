"""Output, progress and signals."""
