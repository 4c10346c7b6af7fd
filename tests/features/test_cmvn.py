"""Normalisation: sums that add up, and windows by their definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.features.cmvn import CmvnStats, sliding_cmvn_rows


def test_by_hand():
    # mean (2, 0), squares (1 + 9) / 2 - 4 = 1 and 0, floored
    stats = CmvnStats.of(np.array([[1.0, 0.0], [3.0, 0.0]]))
    got = stats.apply(np.array([[1.0, 0.0], [4.0, 0.0]]))
    assert got.tolist() == [[-1.0, 0.0], [2.0, 0.0]]
    assert stats.apply(np.array([[5.0, 1.0]]), variance=False).tolist() == [[3.0, 1.0]]


@given(st.integers(2, 60), st.integers(1, 59))
def test_statistics_of_parts_add_up_to_those_of_the_whole(n, cut):
    frames = np.random.default_rng(n).normal(7, 3, (n, 4))
    whole = CmvnStats.of(frames)
    parts = sum([CmvnStats.of(frames[:cut]), CmvnStats.of(frames[cut:])])
    assert parts.count == whole.count
    np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(parts.deviation, frames.std(axis=0), rtol=1e-9)


def direct(frames, window, *, variance):
    """Kaldi's centred window, one frame at a time."""
    rows = []
    for t in range(len(frames)):
        first = t - window // 2
        last = first + window
        if first < 0:
            first, last = 0, last - first
        if last > len(frames):
            first, last = max(first - (last - len(frames)), 0), len(frames)
        part = frames[first:last]
        row = frames[t] - part.mean(axis=0)
        if variance:
            row = row / np.sqrt(np.maximum(part.var(axis=0), 1e-10))
        rows.append(row)
    return np.array(rows)


@given(
    n=st.integers(1, 80),
    window=st.integers(1, 100),
    variance=st.booleans(),
    seed=st.integers(0, 99),
)
def test_the_sliding_window_follows_its_definition(n, window, variance, seed):
    frames = np.random.default_rng(seed).normal(15, 2, (n, 3))
    got = sliding_cmvn_rows(frames, slice(0, n), window, variance=variance)
    want = direct(frames, window, variance=variance)
    # one frame has variance 0: what is left of rounding is divided by 1e-5
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-9)


def test_some_rows_are_those_of_the_whole():
    frames = np.cumsum(np.random.default_rng(0).standard_normal((9000, 2)), axis=0)
    got = sliding_cmvn_rows(frames, slice(8100, 8300), 300)
    want = direct(frames[7500:], 300, variance=True)[600:800]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-8)
