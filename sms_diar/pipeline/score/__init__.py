"""Scores of turns and labels against a reference."""
