"""Experiments, a folder each; `sms-diar run NAME` runs one.

Modules import each other by relative names, because this package is ``recipes`` in a
checkout and ``sms_diar._recipes`` in an installed wheel.
"""
