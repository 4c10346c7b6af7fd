"""What users call: stages strung together."""
