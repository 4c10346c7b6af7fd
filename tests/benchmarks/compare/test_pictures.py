"""Pictures of the comparison name what they show."""

import pytest

from benchmarks.compare import pictures
from benchmarks.compare.peers import PEERS
from benchmarks.compare.words import (
    METHOD_WORDS,
    condition_words,
    source_words,
)
from sms_diar.report import figures


@pytest.fixture(name="drawn")
def _drawn(monkeypatch):
    """Figures by their names, in place of files."""
    pytest.importorskip("matplotlib")
    kept = {}
    monkeypatch.setattr(
        figures, "save_figure", lambda figure, folder, name: kept.update({name: figure})
    )
    return kept


def rows(*methods):
    found = {"k": 0.9, "g": 0.8, "found": 4.0, "right": 0.9}
    return {
        f"arabic CAM++ {count} even": {
            "source": "arabic8k-campplus-raw",
            "law": "all",
            "speakers": count,
            "seconds": 60.0 * count,
            "methods": dict.fromkeys(methods, found),
        }
        for count in (2, 4)
    }


def test_every_peer_has_words_and_its_own_style(drawn, tmp_path):
    assert set(METHOD_WORDS) == set(PEERS)
    pictures.draw_speakers(tmp_path, "x", rows(*PEERS))
    lines = drawn["x"].axes[0].get_lines()
    assert len(lines) == len(PEERS)
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == len(PEERS)


def test_axes_and_titles_are_words(drawn, tmp_path):
    pictures.draw_speakers(tmp_path, "x", rows("sms", "ahc"))
    panel = drawn["x"].axes[0]
    assert panel.get_title() == "Arabic speech, CAM++ vectors;\nall speak equally long"
    assert panel.get_xlabel() == "true number of speakers"
    assert panel.get_ylabel() == "K, geometric mean of\ncluster and speaker purity"


def test_a_number_found_has_the_true_number_beside_it(drawn, tmp_path):
    pictures.draw_found(tmp_path, "x", rows("sms"))
    truth, found = drawn["x-number"].axes[0].get_lines()
    assert truth.get_label() == "true number of speakers"
    assert list(truth.get_xdata()) == list(truth.get_ydata()) == [2, 4]
    assert list(found.get_ydata()) == [4.0, 4.0]


def test_equal_figures_of_methods_lie_apart(drawn, tmp_path):
    pictures.draw_scores(tmp_path, "x", rows("sms", "ahc", "vbx"))
    panel = drawn["x-g"].axes[0]
    places = [tuple(one.get_offsets()[0]) for one in panel.collections]
    assert len(set(places)) == 3
    assert panel.get_xlabel().startswith("G, geometric mean")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("digits nn 1 spk", "digits, neural, 1 speaker"),
        ("digits iv 15 uneven", "digits, i-vectors, 15 speakers, uneven"),
        ("sim EER 5 %, 15 spk", "simulated EER 5 %, 15 speakers"),
        ("sim 15 spk x 5", "simulated, 15 speakers, 5 segments each"),
        ("hard 1s 15dB, 7 uneven", "hard 1s 15dB, 7 speakers, uneven"),
        ("AMI clips", "AMI clips"),
    ],
)
def test_conditions_are_spelled_out(name, words):
    assert condition_words(name) == words


def test_a_source_nobody_described_keeps_its_name():
    assert source_words("eer-5") == "eer-5"
    assert source_words("pool-ge2e-raw") == "both corpora together, GE2E vectors"
