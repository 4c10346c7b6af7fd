"""Arithmetic on times, independent of file formats.

``ticks`` represents times, ``annotation`` represents speaker turns and ``regions``
represents parts of recordings. ``windows`` divides regions into windows; ``turns``
converts labelled windows to speaker turns, and ``naming`` names their speakers.
"""
