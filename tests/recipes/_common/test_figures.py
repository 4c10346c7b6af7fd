"""Figures of experiments: styles differ, clusters look like their speakers."""

import sys

import numpy as np
import pytest

from recipes._common import figures
from sms_diar.errors import MissingExtraError


def test_all_styles_differ_and_there_are_more_than_colours():
    made = [figures.style_of(place) for place in range(figures.N_STYLES)]
    assert len({(one.colour, one.marker, one.dashes) for one in made}) == 28
    # Without colours, as points have no dashes: marker and colour differ, too.
    assert len({(one.colour, one.marker) for one in made}) == 28


def test_clusters_have_the_number_of_the_speaker_they_are_mostly():
    truth = [0, 0, 0, 1, 1, 1, 2, 2]
    # Cluster 7 is speaker 1 (3 points of 3), 3 is speaker 0 (2 of 2); 4 is what is left
    # of speaker 0, who is taken, so it is nobody's and has the first number beyond 2.
    labels = [3, 3, 4, 7, 7, 7, 9, 9]
    assert figures.match_labels(labels, truth).tolist() == [0, 0, 3, 1, 1, 1, 2, 2]


def test_one_cluster_of_two_speakers_is_the_one_who_speaks_more():
    assert figures.match_labels([0, 0, 0], [4, 8, 8]).tolist() == [1, 1, 1]


@pytest.fixture(name="panel")
def _panel():
    pytest.importorskip("matplotlib")
    return figures.new_figure(1, 1, width=4, height=3)[1][0, 0]


def test_of_lines_that_coincide_every_one_is_seen(panel):
    for place in range(9):
        figures.draw_line(panel, [1, 2], [1, 1], place=place, of=9, label=str(place))
    lines = panel.get_lines()
    widths = [line.get_linewidth() for line in lines]
    assert widths == sorted(widths, reverse=True)
    assert len(set(widths)) == 9
    depths = [line.get_zorder() for line in lines]
    assert depths == sorted(depths)  # the narrow ones are on top


def test_bands_are_explained_below_the_figure(panel):
    point = {"median": 1.0, "low": 0.5, "high": 2.0}
    figures.draw_bands(panel, [1, 2], {str(n): [point, point] for n in range(8)})
    assert panel.figure.get_supxlabel() == figures.BANDS
    assert "5 % to 95 %" in figures.BANDS


def test_a_matched_cluster_is_drawn_like_its_speaker(panel):
    X = np.random.default_rng(0).standard_normal((100, 2))
    truth = np.arange(100) % 2
    figures.draw_points(panel, X, figures.match_labels(9 - truth, truth), "found")
    first = panel.collections[0]
    assert np.allclose(first.get_offsets(), X[truth == 0])
    assert np.allclose(first.get_facecolor()[0, :3], (0, 0x72 / 255, 0xB2 / 255))


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
