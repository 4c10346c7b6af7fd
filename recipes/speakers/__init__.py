"""The speaker table of the paper on simulated, bundled or user data."""
