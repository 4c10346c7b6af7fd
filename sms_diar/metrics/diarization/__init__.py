"""Turns against a reference: DER and its relatives."""
