"""The paper's table of speakers on whatever is at hand: simulated, bundled, given."""
