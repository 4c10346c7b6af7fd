"""Audio files and recordings: reading, decoding, writing."""
