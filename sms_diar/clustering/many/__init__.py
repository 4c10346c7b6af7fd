"""Clustering of up to millions of embeddings of many recordings.

``across.py`` is the method: fragments by stochastic mean shift, and adaptation of the
model. ``nearest.py`` finds neighbours, exactly or with an index, and ``merging.py``
merges fragments.
"""
