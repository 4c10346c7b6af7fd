"""Speaker clustering and diarization by stochastic mean shift.

The package is a pipeline, and the folders are its stages in order::

    synthetic -> clustering -> metrics -> report -> experiment -> cli

A module may import from stages to its left, never from stages to its right.
Start reading at :mod:`sms_diar.clustering._reference`: the algorithms as the
paper writes them, in plain NumPy. Importing the package itself is cheap; each
stage loads what it needs when it is imported.
"""

__version__ = "0.1.0"
