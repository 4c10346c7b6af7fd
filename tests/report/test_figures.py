"""Drawing of DET curves."""

import numpy as np
import pytest
from scipy.stats import norm

from sms_diar.metrics import det_curve
from sms_diar.report.figures import draw_det

pytest.importorskip("matplotlib")


def drawn(curves):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    draw_det(axes, curves)
    return axes


def test_two_gaussians_are_a_straight_line():
    # Means 2 apart: probit(miss) + probit(false alarm) = -2, and the EER is P(z > 1).
    quantiles = norm.ppf((np.arange(5000) + 0.5) / 5000)
    scores = np.concatenate([quantiles + 2.0, quantiles])
    rates = det_curve(scores, np.repeat([True, False], 5000))
    axes = drawn({"a$b": rates})
    curve, middle, _ = axes.lines
    x, y = curve.get_data()
    inside = (x > -2.5) & (y > -2.5)
    assert np.count_nonzero(inside) > 500
    assert x[inside] + y[inside] == pytest.approx(-2.0, abs=0.02)
    assert middle.get_xdata() == pytest.approx([-1.0], abs=0.01)
    (text,) = axes.get_legend().get_texts()
    assert text.get_text() == rf"a\$b (EER {100.0 * rates.eer:.2f} %)"


def test_ticks_are_percentages_on_a_probit_scale():
    axes = drawn({"x": det_curve([1.0, 2.0, 3.0, 0.0], [True, False, True, False])})
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "40"]
    assert axes.get_xticks() == pytest.approx(norm.ppf(np.array(labels, float) / 100))
    assert axes.get_xlabel() == "false alarms (%)"


def test_many_points_are_thinned_and_none_is_at_infinity():
    scores = np.random.default_rng(0).standard_normal(100_000)
    axes = drawn({"x": det_curve(scores, np.arange(100_000) % 2 == 0)})
    points = np.array(axes.lines[0].get_data())
    assert points.shape[1] < 20_000
    assert np.isfinite(points).all()


def test_curves_without_errors_are_drawn():
    axes = drawn({"x": det_curve([1.0, 2.0], [False, True])})
    assert axes.get_legend().get_texts()[0].get_text() == "x (EER 0.00 %)"
