"""What a score of two voices is worth, and whose voice it is."""

import numpy as np
import pytest

from sms_diar.scoring.same_voice import (
    CAMPPLUS,
    COSINE,
    DISCRIMINANT,
    IVECTORS,
    NETWORK,
    Calibration,
    VoiceComparison,
    open_set_posteriors,
)


def test_the_ratio_is_the_weighted_sum_that_the_docstring_says():
    how = VoiceComparison(Calibration(COSINE, 10.0, 2.0, -1.0, 0.5))
    scores = how.scores(np.array([[3.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 2.0]]))
    assert scores == pytest.approx(np.array([[0.6, 0.8]]))
    found = how.log_ratios(scores, np.array([np.e]), np.array([np.e**2, 1.0]))
    # 6 + 2 - 2 + .5, and 8 + 0 - 1 + .5
    assert found == pytest.approx(np.array([[6.5, 7.5]]))


def test_seconds_beyond_those_of_development_count_as_the_nearest():
    how = VoiceComparison(Calibration(COSINE, 0.0, 1.0, 0.0, 0.0))
    found = how.log_ratios(
        np.zeros((1, 2)), np.array([18000.0]), np.array([0.1, 9000.0])
    )
    assert found == pytest.approx(np.log([[1.0, 30.0]]))


def test_a_calibration_for_a_space_takes_the_space_of_the_back_end():
    class Space:
        def features(self, rows):
            class Terms:
                U = rows * np.array([1.0, 0.0])

            return Terms

    rows = np.array([[1.0, 5.0], [1.0, -5.0]])
    calibration = Calibration(DISCRIMINANT, 1.0, 0.0, 0.0, 0.0)
    found = VoiceComparison(calibration, Space()).scores(rows, rows)
    assert found == pytest.approx(np.ones((2, 2)))


@pytest.mark.parametrize("shipped", [CAMPPLUS, NETWORK, IVECTORS])
def test_more_alike_is_always_more_likely_one(shipped):
    assert shipped.score > 0.0
    how = VoiceComparison(shipped)
    low, high = how.log_ratios(
        np.array([[-0.2], [1.0]]), np.array([10.0, 10.0]), np.array([10.0])
    ).ravel()
    assert low < 0.0 < high


def test_known_voices_compete_and_somebody_unknown_has_half():
    # No evidence: half is for somebody unknown, a quarter for each of two.
    assert open_set_posteriors(np.zeros(2)) == pytest.approx([0.25, 0.25])
    # 2 * 1/4 against 1/4 and 1/2; without the second, 2 * 1/4 against 1/2.
    assert open_set_posteriors(np.log([2.0, 1.0])) == pytest.approx([0.4, 0.2])
    free = np.array([True, False])
    assert open_set_posteriors(np.log([2.0, 1.0]), free) == pytest.approx([0.5, 0.0])
    assert open_set_posteriors(np.zeros(0)).tolist() == []


def test_huge_ratios_do_not_overflow():
    found = open_set_posteriors(np.array([2000.0, 1999.0, -2000.0]))
    # e : 1 between the first two
    assert found == pytest.approx([np.e / (1 + np.e), 1 / (1 + np.e), 0.0])
