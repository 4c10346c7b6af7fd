"""Figures are drawn, or their absence is explained."""

import sys

import numpy as np
import pytest

from sms_diar.errors import MissingExtraError
from sms_diar.report import figures


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sms-diar\[plot\]'"):
        figures.new_figure(1, 1, width=1, height=1)


def test_the_same_data_give_the_same_bytes(tmp_path):
    pytest.importorskip("matplotlib")
    X = np.random.default_rng(0).standard_normal((20, 2))
    labels = np.arange(20) % 9
    written = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        figure, axes = figures.new_figure(2, 2, width=4, height=4)
        figures.draw_points(axes[0, 0], X, labels, "points")
        figures.draw_paths(axes[0, 1], np.stack([X, X / 2]), "paths")
        figures.draw_modes(axes[1, 0], X, X[:2], np.array([3, 4]), "modes")
        point = {"median": 1.0, "low": 0.5, "high": 2.0}
        figures.draw_bands(axes[1, 1], [1, 2], {"MS": [point, point]})
        figures.draw_guide(axes[1, 1], [1, 2], 1.0, 2.0)
        paths = figures.save_figure(figure, folder, "x")
        assert [path.suffix for path in paths] == [".png", ".pdf"]
        written.append([path.read_bytes() for path in paths])
    assert written[0] == written[1]
    assert written[0][0].startswith(b"\x89PNG")
    assert written[0][1].startswith(b"%PDF")
