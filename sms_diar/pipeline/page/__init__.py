"""HTML page of a diarized recording, with its audio."""
