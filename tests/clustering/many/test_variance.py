"""How much speakers vary, from neighbours."""

import numpy as np
import pytest

from sms_diar.clustering.many.across import variance_within
from sms_diar.clustering.many.nearest import Rows, exact_neighbours

PSI = np.geomspace(6.0, 0.5, 60)


def drawn(scale, each=40):
    rng = np.random.default_rng(5)
    voices = np.sqrt(PSI) * rng.standard_normal((20, 60))
    rows = np.repeat(voices, each, axis=0)
    rows += np.sqrt(scale) * rng.standard_normal(rows.shape)
    return Rows(rows.astype(np.float32), PSI)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0])
def test_the_variance_of_the_draw_is_found(scale):
    assert variance_within(drawn(scale)) == pytest.approx(scale, rel=0.1)


def test_differences_of_nearest_neighbours_themselves_are_too_small():
    rows = drawn(1.0)
    near = exact_neighbours(rows, np.arange(800), 1)[:, 0]
    gaps = rows.vectors - rows.vectors[near]
    assert np.median(np.mean(gaps**2, axis=1)) / 2.0 < 0.8
