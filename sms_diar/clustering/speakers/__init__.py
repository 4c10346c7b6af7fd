"""Mean shift of speaker embeddings, and bounds on the number of speakers.

Read ``_reference.py`` first: kNN mean shift of scored pairs in plain NumPy.

* Estimators: ``mean_shift.py`` (plain, blurring and stochastic, with k neighbours) and
  ``evidence.py``, the default, which needs no settings (``EVIDENCE.md``).
* Base class: ``base.py`` for all estimators of speakers, including the baselines.
* Loops of ``mean_shift.py``: ``_kernels.py`` moves segments, and cells of
  ``_cell_kernels.py`` avoid most scores.
* Parts of ``evidence.py``: ``evidence_search.py`` climbs the evidence, with loops in
  ``_evidence_kernels.py``; ``row_weight.py`` weights windows that
  overlap; ``vb.py`` is a variational Bayes mixture, which VBx uses too.
* Numbers of speakers: ``bounds.py`` checks and enforces them, ``agglomerate.py`` merges
  points and clusters by their mean scores.
"""
