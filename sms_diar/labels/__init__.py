"""Cluster labels to speaker turns."""
