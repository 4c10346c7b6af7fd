"""File formats: readers and writers without arithmetic.

Prefixes show how strict a function is: ``read_...`` raises at the first problem,
``scan_...`` reads all valid parts and collects the problems, ``check_...`` and
``validate_...`` only list them. ``write_...`` replaces files atomically.
"""
