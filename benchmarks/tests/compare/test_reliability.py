"""Whether probabilities are true."""

import numpy as np
import pytest

from benchmarks.compare.peers import Labelling
from benchmarks.compare.reliability import (
    into_bins,
    reliability_of,
    right_rows,
    summarise_reliability,
)


@pytest.mark.parametrize(
    ("truth", "labels", "right"),
    [
        ("aabb", [0, 0, 1, 1], [1, 1, 1, 1]),
        ("aabb", [5, 5, 2, 2], [1, 1, 1, 1]),
        ("aabb", [0, 0, 0, 0], [1, 1, 0, 0]),  # one cluster is one speaker
        ("aaab", [0, 0, 1, 2], [1, 1, 0, 1]),  # one speaker is one cluster
        # 0 has two of a and two of b, 1 one of a: 0 is b's and 1 is a's.
        ("aabba", [0, 0, 0, 0, 1], [0, 0, 1, 1, 1]),
    ],
)
def test_rows_are_right_under_the_best_one_to_one_mapping(truth, labels, right):
    found = right_rows(np.array(list(truth)), np.array(labels))
    assert found.tolist() == [bool(one) for one in right]


def test_bins_hold_what_was_said_and_what_was_right():
    bins = into_bins(np.array([0.0, 0.95, 1.0, 0.92]), np.array([0, 1, 1, 0]))
    assert bins["weight"] == [0.25, *[0.0] * 8, 0.75]
    assert bins["said"][-1] == pytest.approx((0.95 + 1.0 + 0.92) / 4)
    assert bins["right"] == [0.0, *[0.0] * 8, 0.5]


def test_silent_methods_are_left_out():
    truth = np.array(["a", "a"])
    assert reliability_of(truth, Labelling(np.array([0, 0]), 0.1)) == {}
    assert summarise_reliability([{"methods": {}}, {"reliability": {}}]) == {}


def sure(confidence, posterior):
    """Two speakers, of whom the second has one row in the cluster of the first."""
    truth = np.array(["a", "a", "b", "b"])
    found = Labelling(np.array([0, 0, 0, 1]), 0.1, np.array(confidence), posterior)
    return {"reliability": {"sms": reliability_of(truth, found)}}


def test_the_calibration_error_is_how_far_bins_are_off():
    # One of four rows is wrong. Said: .75 each; .95 each.
    told = summarise_reliability(
        [sure([0.75] * 4, {2: 0.6, 3: 0.4}), sure([0.95] * 4, {1: 0.2, 2: 0.8})]
    )["sms"]
    labels = told["labels"]
    assert labels["said"] == pytest.approx(0.85)
    assert labels["right"] == pytest.approx(0.75)
    # Half of the weight is off by 0, half by .2.
    assert labels["error"] == pytest.approx(0.1)
    assert labels["curve"]["said"] == pytest.approx([0.75, 0.95])
    assert labels["curve"]["share"] == pytest.approx([0.5, 0.5])
    # Two speakers were found, rightly, with .6 and .8: off by .4 and .2.
    number = told["number"]
    assert number["right"] == 1.0
    assert number["error"] == pytest.approx(0.3)
    assert number["true"] == pytest.approx(0.7)
    assert number["sessions"] == 2


def test_a_number_nobody_thought_of_has_probability_zero():
    told = reliability_of(
        np.array(["a", "b", "c"]),
        Labelling(np.array([0, 1, 1]), 0.1, None, {2: 0.9, 1: 0.1}),
    )
    assert "labels" not in told
    assert told["true_number"] == 0.0
    assert told["number"]["said"] == [*[0.0] * 9, 0.9]
    assert told["number"]["right"] == [0.0] * 10
