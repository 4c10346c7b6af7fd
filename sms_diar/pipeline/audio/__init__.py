"""Audio input: resolve paths, decode recordings, write one file per speaker."""
