"""Centring and the shrunk mean of a session."""

import numpy as np
import pytest

from sms_diar.preprocessing import Center

X = np.array([[1.0, 0.0], [3.0, 6.0]])


def test_subtracts_the_mean():
    # mean (2, 3)
    assert Center().fit_transform(X).tolist() == [[-1.0, -3.0], [1.0, 3.0]]


def test_the_session_mean_is_drawn_towards_the_prior():
    # n = 2, shrink = 6: w = 2/8; mean = (2, 3)/4 + 3/4 (10, 1) = (8, 1.5)
    model = Center(shrink=6.0, prior_mean=[10.0, 1.0]).fit(X)
    assert model.mean_.tolist() == [8.0, 1.5]


def test_more_vectors_trust_the_session_more():
    prior = np.zeros(2)
    gaps = [
        np.linalg.norm(
            Center(shrink=4.0, prior_mean=prior).fit(np.repeat(X, k, 0)).mean_ - [2, 3]
        )
        for k in (1, 2, 4, 8)
    ]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] == pytest.approx(np.hypot(2, 3) * 4 / 20)
