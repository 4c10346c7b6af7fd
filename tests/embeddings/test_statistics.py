"""Baum-Welch statistics."""

import numpy as np
import pytest

from sms_diar.embeddings import GaussianMixture, Statistics, collect_statistics
from sms_diar.embeddings.mixture import BLOCK
from sms_diar.errors import InvalidParameterError

PAIR = GaussianMixture(
    np.array([0.5, 0.5]), np.array([[-50.0, 0.0], [50.0, 0.0]]), np.ones((2, 2))
)


def test_frames_are_counted_and_summed_by_component():
    # The components are so far apart that every posterior is 0 or 1.
    frames = np.array([[-51.0, 1.0], [49.0, 2.0], [-49.0, 4.0]])
    found = collect_statistics(PAIR, [("a", frames), ("none", frames[:0])])
    assert found.ids == ("a", "none")
    np.testing.assert_allclose(found.zeroth, [[2.0, 1.0], [0.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(found.first[0], [[-100.0, 5.0], [49.0, 2.0]], rtol=1e-12)
    assert not found.first[1].any()


def make_segments(n=11):
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 40, n)
    return [(f"s{i}", rng.standard_normal((k, 2)) * 40) for i, k in enumerate(lengths)]


def test_sums_are_the_definition():
    for name, frames in make_segments():
        posteriors, _ = PAIR.posteriors(frames)
        found = collect_statistics(PAIR, [(name, frames)])
        np.testing.assert_allclose(found.zeroth[0], posteriors.sum(axis=0), rtol=1e-12)
        want = np.einsum("tc,td->cd", posteriors, frames)
        np.testing.assert_allclose(found.first[0], want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("top", [None, 1])
def test_workers_and_company_do_not_matter(top):
    segments = make_segments()
    alone = [collect_statistics(PAIR, [item], top=top) for item in segments]
    together = collect_statistics(PAIR, iter(segments), top=top, workers=3)
    assert together.ids == tuple(name for name, _ in segments)
    np.testing.assert_array_equal(
        together.first, np.concatenate([part.first for part in alone])
    )
    np.testing.assert_array_equal(
        together.zeroth, np.concatenate([part.zeroth for part in alone])
    )


def test_long_segments_are_the_sum_of_their_blocks():
    frames = np.random.default_rng(3).standard_normal((BLOCK + 100, 2)) * 40
    whole = collect_statistics(PAIR, [("long", frames)])
    parts = collect_statistics(PAIR, [("a", frames[:BLOCK]), ("b", frames[BLOCK:])])
    np.testing.assert_array_equal(whole.first[0], parts.first.sum(axis=0))
    assert whole.zeroth.sum() == pytest.approx(BLOCK + 100, rel=1e-12)


def test_batches_join_to_the_whole():
    found = collect_statistics(PAIR, make_segments())
    parts = list(found.batches(4))
    assert [len(part) for part in parts] == [4, 4, 3]
    assert sum((part.ids for part in parts), ()) == found.ids
    assert found.select([2, 0]).ids == ("s2", "s0")


def test_an_error_in_a_thread_names_the_segment():
    broken = np.array([[0.0, 1.0], [np.inf, 0.0]])
    with pytest.raises(InvalidParameterError, match="collect_statistics: frames of"):
        collect_statistics(PAIR, [*make_segments(), ("bad", broken)], workers=2)


def test_shapes_that_disagree_are_refused():
    with pytest.raises(InvalidParameterError, match="Statistics: zeroth and first"):
        Statistics(("a",), np.ones((2, 3)), np.ones((2, 3, 4)))
