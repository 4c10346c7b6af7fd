"""Formats: bytes to values and back, one file each; no arithmetic.

Verbs say how strict a function is: ``read_...`` raises at the first problem,
``scan_...`` reads what can be read and collects the problems, ``check_...`` and
``validate_...`` only list them. ``write_...`` replaces a file whole or not at all.
"""
