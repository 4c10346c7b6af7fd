"""Score turns against a reference: DER and related metrics, by the rules of four tools.

The entry point is `evaluation.score_diarization`. It calls, in this order::

    conventions      rules on which tools disagree (explained in CONVENTIONS.md)
    preparation      annotations to axes, and warnings about missing recordings
      units            recordings or channels that are scored separately
      scored_regions   regions of a UEM, or extents
      axis             all units in sequence on one time axis
    sums             sums of each unit, from one sweep over an axis
      sweep            intervals between boundaries
      mapping          shared time and one-to-one mapping of speakers
      information      sums for B-cubed, tau and entropies
    rates            sums to metrics
    evaluation       metrics of recordings, pooled and averaged

`bootstrap` (confidence intervals, comparisons of systems) and `error_intervals`
(list of errors) take an evaluation.
"""
