"""Mean shift of speaker embeddings, and bounds on the number of speakers.

Read ``_reference.py`` first: kNN mean shift of scored pairs in plain NumPy.

* Estimators: ``mean_shift.py`` (plain, blurring and stochastic, with k neighbours), and
  the two of the default: ``fragments.py``, which needs no model (docs/how/default.md),
  and ``evidence.py`` for PLDA models (``EVIDENCE.md``).
* Base classes: ``base.py``, also for the baselines.
* Parts of ``fragments.py``: ``rows.py`` (times, overlap, repeated passages),
  ``space.py`` (a metric learnt from the session) and ``merging.py`` (which fragments
  are one speaker).
* Loops of ``mean_shift.py``: ``_kernels.py`` moves segments, and cells of
  ``_cell_kernels.py`` avoid most scores. Loops of ``evidence.py``:
  ``_evidence_kernels.py``.
* Numbers of speakers: ``bounds.py`` enforces them, ``agglomerate.py`` merges
  points and clusters by their mean scores.
"""
