"""Claims of the way with a PLDA model, and what is made of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sms_diar.clustering.speakers.sureness import (
    LABELS,
    NUMBER,
    tempered_count,
    tempered_labels,
)


def test_labels_by_hand():
    # Even odds are worth expit of the constant, odds of 9 to 1 that and a bit.
    constant, slope = LABELS
    found = tempered_labels(np.array([0.5, 0.9]))
    want = [expit(constant), expit(constant + slope * np.log(9.0))]
    np.testing.assert_allclose(found, want)


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=8))
def test_more_is_claimed_of_a_label_more_is_believed_and_never_all(claims):
    found = tempered_labels(np.sort(claims))
    assert (np.diff(found) >= 0.0).all()
    assert (found < 1.0).all()


def test_numbers_by_hand():
    constant, slope = NUMBER
    sure = expit(constant + slope * np.log(0.8 / 0.2))
    found = tempered_count({4: 0.8, 3: 0.2}, 4, 1, 20)
    assert found == pytest.approx({4: sure, 3: (1 - sure) / 2, 5: (1 - sure) / 2})
    assert next(iter(found)) == 4


@pytest.mark.parametrize(
    ("low", "high", "numbers"),
    [(1, 20, [4, 3, 2, 5]), (4, 20, [4, 5]), (1, 4, [4, 3, 2]), (4, 4, [4])],
)
def test_bounds_leave_doubt_only_where_they_leave_room(low, high, numbers):
    found = tempered_count({4: 0.7, 3: 0.2, 2: 0.1}, 4, low, high)
    assert list(found) == numbers
    assert sum(found.values()) == pytest.approx(1.0)
