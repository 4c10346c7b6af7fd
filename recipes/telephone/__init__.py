"""Training lists of telephone speech."""
