"""Pure fragments by stochastic mean shift over neighbours."""

import numpy as np
import pytest

from sms_diar.clustering.many.across import find_fragments
from sms_diar.clustering.many.nearest import Rows, find_neighbours

PSI = np.geomspace(6.0, 1.0, 24)


@pytest.fixture(scope="module")
def speakers():
    return np.repeat(np.arange(8), 12)


@pytest.fixture(scope="module")
def rows(speakers):
    rng = np.random.default_rng(2)
    voices = np.sqrt(PSI) * rng.standard_normal((8, 24)) * 1.5
    vectors = voices[speakers] + rng.standard_normal((96, 24))
    return Rows(vectors.astype(np.float32), PSI)


def fragments(rows, near, seed=0, **options):
    rng = np.random.default_rng(seed)
    return find_fragments(rows, near, rng=rng, **options)


def test_fragments_hold_one_speaker_each(rows, speakers):
    labels, steps = fragments(rows, find_neighbours(rows, 8)[0])
    pairs = set(zip(labels.tolist(), speakers.tolist(), strict=True))
    assert len(pairs) == labels.max() + 1
    assert labels.max() + 1 < 24  # far fewer than rows
    assert steps % 96 == 0


def test_rows_without_neighbours_stay_alone(rows):
    nobody = np.full((96, 3), -1, dtype=np.int32)
    labels, steps = fragments(rows, nobody)
    assert labels.tolist() == list(range(96))
    assert steps == 96  # nothing moved, so one round is enough


def test_rows_are_not_changed(rows):
    before = rows.vectors.copy()
    fragments(rows, find_neighbours(rows, 8)[0])
    np.testing.assert_array_equal(rows.vectors, before)


def test_same_seed_same_fragments(rows):
    near = find_neighbours(rows, 8)[0]
    one, two = (fragments(rows, near, seed=7)[0] for _ in range(2))
    np.testing.assert_array_equal(one, two)
