"""Labels against the truth: purities, counts and the table they start from."""
