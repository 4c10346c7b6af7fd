"""Turns against a reference: DER and its relatives, by the rules of several tools.

`evaluation.score_diarization` is the way in. What it calls, in this order::

    conventions      the rules on which tools disagree (CONVENTIONS.md explains them)
    preparation      annotations to axes, by means of
      units            what is scored apart: recordings or channels
      scored_regions   which stretches of it: UEM or extent
      mismatches       recordings that not all of the inputs have
      axis             all units one after the other on one axis of time
      handover         what dscore's files for md-eval do to times and ids
    sums             one sweep over an axis, added up by unit, by means of
      sweep            the axis cut where anything begins or ends
      cells            pairs of speakers who talk at the same time
      mapping          who stands for whom
      raster           the 10 ms frames of dscore
      information      sums behind B-cubed, tau, entropies
    rates            sums to figures
    evaluation       figures of recordings, pooled and averaged

On top of an evaluation: `bootstrap` (intervals, comparisons of systems) and
`error_intervals` (where the errors are).
"""
