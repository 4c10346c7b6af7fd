"""Speakers across many recordings, of up to millions of embeddings.

::

    nearest     proposes neighbours: exactly, or by a kept index; scores decide
    variance    how much speakers vary, from neighbours
    fragments   pure fragments, by stochastic mean shift over these neighbours
    joins       fragments joined as long as likelihood ratios say one speaker
    across      the estimator: all of it, and the model that adapts
"""
