"""Arithmetic on times, which knows no file format.

``ticks`` and ``seconds`` are times themselves; ``annotation`` is who speaks when and
``regions`` is where, both as values; ``windows`` are laid over regions, and labelled
windows become ``turns`` whose speakers ``naming`` names.
"""
