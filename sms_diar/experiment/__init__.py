"""Recipes, settings, stages and repetitions."""
