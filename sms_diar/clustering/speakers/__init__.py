"""Mean shift of speaker embeddings, and what decides on the number of speakers.

Read ``_reference.py`` first: kNN mean shift of scored pairs in plain NumPy.

* Estimators: ``mean_shift.py`` (plain, blurring and stochastic, with k neighbours) and
  ``evidence.py``, the default, which needs no settings (``EVIDENCE.md``).
* Skeletons: ``base.py`` of all estimators of speakers, the baselines among them;
  ``knn.py`` of those with neighbourhoods.
* Loops of ``mean_shift.py``: ``_kernels.py`` moves segments, ``_cell_search.py`` and
  ``_cell_kernels.py`` spare it most scores, ``_selection.py`` keeps the best of many.
* Parts of ``evidence.py``: ``evidence_search.py`` climbs the evidence, with loops in
  ``_evidence_kernels.py``; ``row_weight.py`` says how much a window counts that
  overlaps others; ``vb.py`` is a variational Bayes mixture, of VBx as well.
* Numbers of speakers: ``bounds.py`` checks and reaches them, ``merging.py`` joins
  clusters by their mean scores, ``dendrogram.py`` all points once and for all.
"""
