"""The synthetic experiments of the paper."""
