"""Simulated conversations with their reference."""
