"""The back end of neural vectors: trained, cross-validated and written."""
