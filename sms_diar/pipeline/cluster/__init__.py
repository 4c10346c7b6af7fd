"""Clustering of embeddings: one session, several sessions, or across recordings."""
