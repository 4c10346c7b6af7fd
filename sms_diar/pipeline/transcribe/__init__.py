"""Speech recognition: from audio to words."""
