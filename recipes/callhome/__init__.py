"""Who spoke when in each recording of a data directory, scored."""
