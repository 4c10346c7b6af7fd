"""Calibration and fusion of scores by logistic regression."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.metrics import log_likelihood_ratio_cost
from sms_diar.scoring import ScoreFusion, fit_fusion, read_fusion, write_fusion


def trials(seed, n_systems, n=300):
    rng = np.random.default_rng(seed)
    same = rng.random(n) < 0.25
    scores = rng.standard_normal((n, n_systems)) + 1.5 * same[:, None]
    return scores * 10.0 ** np.arange(n_systems) + 3.0, same


@pytest.mark.parametrize("prior", [0.5, 0.01, 0.9])
@pytest.mark.parametrize("n_systems", [1, 3])
def test_weights_are_those_of_weighted_logistic_regression(n_systems, prior):
    scores, same = trials(n_systems, n_systems)
    fusion = fit_fusion(scores, same, prior=prior)
    share = np.where(same, prior / same.sum(), (1 - prior) / (~same).sum())
    other = LogisticRegression(
        C=np.inf, tol=1e-14, max_iter=1000, solver="newton-cholesky"
    ).fit(scores, same, sample_weight=share * len(same))
    # Its intercept contains the prior, which is not part of a likelihood ratio.
    offset = other.intercept_[0] - math.log(prior / (1 - prior))
    assert fusion.weights == pytest.approx(other.coef_[0], rel=1e-8)
    assert fusion.offset == pytest.approx(offset, rel=1e-8)


def test_calibration_by_hand():
    # Scores are 0 or 1. Three of four targets and one of four non-targets score 1: the
    # ratios are log(3/4 : 1/4) = log 3 and log(1/4 : 3/4) = -log 3, at any prior.
    scores = np.array([[1.0], [1], [1], [0], [1], [0], [0], [0]])
    same = [True] * 4 + [False] * 4
    for prior in (0.5, 0.1):
        fusion = fit_fusion(scores, same, prior=prior)
        assert fusion.weights == pytest.approx([2 * math.log(3)], rel=1e-9)
        assert fusion.offset == pytest.approx(-math.log(3), rel=1e-9)
    # All targets three times: the share of targets in the data does not matter.
    again = fit_fusion(np.r_[scores[:4], scores[:4], scores], [True] * 12 + same[4:])
    assert again.weights == pytest.approx([2 * math.log(3)], rel=1e-9)


@given(st.integers(0, 99), st.floats(0.1, 10.0), st.floats(-20.0, 20.0))
def test_linear_maps_of_scores_are_undone(seed, factor, shift):
    scores, same = trials(seed, 1, n=60)
    ratios = fit_fusion(scores, same).transform(scores)
    moved = factor * scores + shift
    assert fit_fusion(moved, same).transform(moved) == pytest.approx(ratios, abs=1e-6)
    # Nothing linear is better at prior 1/2 than what was trained for it.
    best = log_likelihood_ratio_cost(ratios, same)
    for changed in (0.9 * ratios, 1.1 * ratios, ratios + 0.1, ratios - 0.1):
        assert best <= log_likelihood_ratio_cost(changed, same) + 1e-12


def test_fusion_is_not_worse_than_each_of_its_systems():
    scores, same = trials(5, 3)
    together = fit_fusion(scores, same).transform(scores)
    for column in range(3):
        alone = fit_fusion(scores[:, [column]], same).transform(scores[:, [column]])
        single = log_likelihood_ratio_cost(alone, same)
        assert log_likelihood_ratio_cost(together, same) < single


def test_equal_systems_share_their_weight_and_constant_ones_get_none():
    scores, same = trials(6, 1)
    (weight,) = fit_fusion(scores, same).weights
    both = fit_fusion(np.hstack([scores, scores]), same).weights
    assert both == pytest.approx([weight / 2, weight / 2], rel=1e-9)
    constant = np.hstack([scores, np.full_like(scores, 7.0)])
    assert fit_fusion(constant, same).weights == pytest.approx([weight, 0.0], abs=1e-9)


@pytest.mark.parametrize(
    ("scores", "same"),
    [
        ([[1.0], [2.0], [3.0]], [False, False, True]),
        ([[1.0], [2.0], [2.0]], [False, False, True]),  # only a tie
        ([[3.0], [2.0], [1.0]], [False, False, True]),  # upside down
        ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [False, False, True]),  # in the plane
    ],
)
def test_separable_trials_are_refused(scores, same):
    with pytest.raises(InvalidParameterError, match="infinite") as caught:
        fit_fusion(scores, same)
    assert caught.value.parameter == "scores"


@pytest.mark.parametrize(
    ("scores", "same", "options", "parameter"),
    [
        ([1.0, 2.0], [True, False], {}, "scores"),
        ([[1.0], [np.nan]], [True, False], {}, "scores"),
        ([[1.0], [2.0]], [True, True], {}, "same"),
        ([[1.0], [2.0]], [True, False], {"prior": 1.0}, "prior"),
        ([[1.0], [2.0]], [True, 2], {}, "same"),
    ],
)
def test_wrong_arguments_are_named(scores, same, options, parameter):
    with pytest.raises(InvalidParameterError) as caught:
        fit_fusion(scores, same, **options)
    assert caught.value.parameter == parameter


def test_a_fusion_is_restored_exactly(tmp_path):
    scores, same = trials(7, 2)
    fusion = fit_fusion(scores, same, prior=0.05)
    write_fusion(tmp_path / "f.json", fusion)
    again = read_fusion(tmp_path / "f.json")
    assert again.weights.tolist() == fusion.weights.tolist()
    assert again.offset == fusion.offset
    with pytest.raises(InvalidParameterError) as caught:
        again.transform(scores[:, :1])
    assert caught.value.parameter == "scores"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"sms_diar_fusion": 2}, "format must be 1"),
        ({"offset": None}, "finite"),
        ({"weights": []}, "finite"),
        ({"weights": [True]}, "finite"),
        ({"weights": {}}, "finite"),
        ({"weights": 3}, "not a calibration"),
    ],
)
def test_damaged_files_are_refused(tmp_path, change, says):
    path = tmp_path / "f.json"
    write_fusion(path, ScoreFusion(np.array([1.0]), 0.0))
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(DataFormatError, match=says):
        read_fusion(path)


@pytest.mark.parametrize("content", [b"", b"[", b"[]", b"\xff", b"NaN", b"[" * 99_999])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "f.json").write_bytes(content)
    with pytest.raises(DataFormatError, match="not a calibration"):
        read_fusion(tmp_path / "f.json")
