"""All methods on all conditions, paired."""
