"""Words with speakers."""
