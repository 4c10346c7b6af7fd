"""Mean shift of embeddings, and what decides on the number of speakers."""
