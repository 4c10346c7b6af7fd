"""Models and their training: features, i-vectors, PLDA models and trials."""
