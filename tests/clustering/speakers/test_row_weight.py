"""How much of an observation a row is, where windows overlap."""

import numpy as np
import pytest
from sms_diar.clustering.speakers.row_weight import estimate_row_weight, row_weight_of

from sms_diar.types import Segment


@pytest.mark.parametrize("steps", [2, 3, 6])
def test_overlapping_windows_are_noticed(steps):
    # A window is the mean of this many independent stretches of speech.
    rng = np.random.default_rng(0)
    stretches = rng.standard_normal((600, 20))
    windows = np.lib.stride_tricks.sliding_window_view(stretches, steps, axis=0)
    assert estimate_row_weight(windows.mean(axis=-1)) == pytest.approx(1.0 / steps)


@pytest.mark.parametrize("per_speaker", [5, 30])
@pytest.mark.parametrize("in_order", [True, False])
def test_speakers_in_order_are_no_overlap(per_speaker, in_order):
    rng = np.random.default_rng(0)
    speakers = np.repeat(rng.standard_normal((20, 20)), per_speaker, axis=0)
    rows = speakers + rng.standard_normal(speakers.shape)
    rows = rows if in_order else rng.permutation(rows)
    assert estimate_row_weight(rows) == 1.0


@pytest.mark.parametrize(("n_speakers", "each"), [(3, 20), (30, 5)])
def test_rows_sorted_by_speaker_are_no_overlapping_windows(n_speakers, each):
    rng = np.random.default_rng(n_speakers)
    speakers = 3.0 * rng.standard_normal((n_speakers, 6))
    rows = np.repeat(speakers, each, axis=0)
    rows = rows + 0.3 * rng.standard_normal(rows.shape)
    assert estimate_row_weight(rows) == 1.0


@pytest.mark.parametrize("rows", [np.zeros((40, 3)), np.eye(5), np.ones((1, 2))])
def test_equal_or_few_rows_count_in_full(rows):
    assert estimate_row_weight(rows) == 1.0


def test_weights_from_times_by_hand():
    # 0 to 3 s of one recording by windows of 2 s, and 1 s of another by one of 1 s:
    # 4 s heard in 5.
    segments = [Segment("a", 0.0, 2.0), Segment("b", 0.0, 1.0), Segment("a", 1.0, 3.0)]
    assert row_weight_of(segments) == pytest.approx(0.8)
    assert row_weight_of([]) == 1.0
