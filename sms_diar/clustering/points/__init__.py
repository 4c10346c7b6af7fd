"""Mean shift of points: the paper's definitions, estimators and loops."""
