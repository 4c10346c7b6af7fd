"""Speaker clustering and diarization by stochastic mean shift.

The package is a pipeline, and the folders are its stages in order::

    io -> features -> embeddings -> preprocessing -> scoring -> synthetic
       -> clustering -> labels -> metrics -> report -> experiment -> cli

A module may import from stages to its left, never from stages to its right.
Start reading at :mod:`sms_diar.types`, the few values that travel along, and
:mod:`sms_diar.clustering.points._reference`, the algorithms as the paper writes them.
Importing the package itself is cheap; each stage loads what it needs when it is
imported.
"""

__version__ = "0.1.0"
