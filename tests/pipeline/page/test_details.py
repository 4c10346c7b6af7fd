"""Pictures of windows."""

import numpy as np
import pytest

from sms_diar.pipeline.page.details import (
    MOST_WINDOWS,
    evenly,
    window_details,
    window_map,
)
from sms_diar.preprocessing import scale_rows
from sms_diar.types import Segment


@pytest.fixture
def two_voices():
    rng = np.random.default_rng(3)
    centres = np.array([[4.0, 0, 0, 0], [0, 4.0, 0, 0]])
    return centres[np.arange(60) % 2] + 0.3 * rng.standard_normal((60, 4))


def details_of(vectors, confidence=None):
    windows = [Segment("r", i, i + 1.5) for i in range(len(vectors))]
    return window_details(
        windows, scale_rows(vectors), np.arange(len(vectors)) % 2, confidence
    )


def test_the_plane_is_that_of_most_variance(two_voices):
    details = details_of(two_voices)
    rows = two_voices / np.linalg.norm(two_voices, axis=1, keepdims=True)
    variances = np.sort(np.linalg.eigvalsh(np.cov(rows.T)))[::-1]
    assert details.share == pytest.approx(variances[:2].sum() / variances.sum())
    found = np.var(details.points, axis=0, ddof=1)
    assert found == pytest.approx(variances[:2], rel=1e-4)


def test_of_many_windows_some_are_drawn_and_all_are_counted():
    vectors = np.random.default_rng(0).standard_normal((MOST_WINDOWS + 500, 3))
    details = details_of(vectors, np.linspace(0, 1, len(vectors)))
    assert len(details.points) == MOST_WINDOWS
    assert details.drawn[0] == 0
    assert details.drawn[-1] == len(vectors) - 1
    assert len(np.unique(details.drawn)) == MOST_WINDOWS
    assert len(details.windows) == len(vectors)


def test_a_picture_needs_three_windows(two_voices):
    assert window_map(details_of(two_voices[:2])) is None
    shown = window_map(details_of(two_voices[:9], np.full(9, 0.5)))
    assert shown.n_windows == 9
    assert shown.to_dict()["confidence"] == [0.5] * 9


def test_equal_vectors_make_a_picture_of_one_point():
    shown = window_map(details_of(np.ones((5, 3)))).to_dict()
    assert len(set(map(tuple, shown["points"]))) == 1


def test_evenly_takes_all_of_few():
    assert evenly(3, 5).tolist() == [0, 1, 2]
    assert evenly(9, 3).tolist() == [0, 4, 8]
