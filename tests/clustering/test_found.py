"""Fitted estimators tell a notebook what they found."""

import numpy as np
import pytest

from sms_diar.clustering.methods import build_method


@pytest.mark.parametrize("method", ["sms", "sms-paper", "ahc"])
def test_estimators_of_speakers_show_what_they_found(method):
    rng = np.random.default_rng(0)
    voices = np.repeat(rng.standard_normal((3, 20)), [30, 20, 10], axis=0)
    X = voices + 0.1 * rng.standard_normal((60, 20))
    estimator = build_method(method, None, seed=0)
    assert not estimator._repr_html_().startswith("<p>Found")
    shown = estimator.set_params(num_speakers=3).fit(X)._repr_html_()
    assert shown.startswith("<p>Found 3 clusters of 60 rows; sizes 30, 20, 10.")
