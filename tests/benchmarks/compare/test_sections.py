"""Tables of sessions without a PLDA model, and of what methods say of themselves."""

import pytest

from benchmarks.compare import pictures, sections
from benchmarks.compare.summary import summarise_parts

HEADS = ("condition", "spk", "rows", "sms", "nme")


def figures(value, found, true):
    return {
        "k": value,
        "g": value,
        "right": value,
        "found": float(found),
        "count_error": float(abs(found - true)),
        "relative_error": abs(found - true) / true,
        "exact": float(found == true),
        "seconds": 0.5,
    }


def session(true, ours, theirs, reliability=None):
    return {
        "session": {"n_segments": 80, "n_speakers": true, "seconds": 60.0},
        "methods": {
            "sms": figures(*ours, true),
            "nme-sc": figures(*theirs, true),
        },
        "reliability": reliability or {},
    }


def condition(name, part, law, **more):
    fields = {"group": "g", "source": "s", "speakers": 2, "doubles": "", **more}
    return {"name": name, "part": part, "law": law, **fields}


TOLD = {
    "sms": {
        "labels": {
            "weight": [0.0] * 9 + [1.0],
            "said": [0.0] * 9 + [0.95],
            "right": [0.0] * 9 + [0.75],
        },
        "number": {
            "weight": [0.0] * 9 + [1.0],
            "said": [0.0] * 9 + [0.9],
            "right": [0.0] * 9 + [1.0],
        },
        "true_number": 0.9,
    }
}
CONTENT = {
    "conditions": [
        condition("raw 2 even", "untrained", "all"),
        condition("half", "doubled", "half"),
        condition("whole", "doubled", "all", doubles="half"),
        condition("talks", "windows", "whole", seconds=0.0),
        condition("20 s", "lengths", "cut", seconds=20.0),
        condition("2 min, 2 spk", "lengths", "splice", seconds=120.0),
    ],
    "sessions": {
        "raw 2 even/0": session(2, (0.9, 3), (0.95, 2)),
        "raw 2 even/1": session(2, (1.0, 2), (0.85, 2)),
        "half/0": session(2, (1.0, 2), (1.0, 2)),
        "whole/0": session(2, (1.0, 4), (1.0, 2)),
        "talks/0": session(3, (0.8, 2), (0.9, 3), TOLD),
        "20 s/0": session(2, (0.8, 2), (0.7, 3)),
        "2 min, 2 spk/0": session(2, (0.8, 2), (0.7, 3)),
    },
}


@pytest.fixture
def results():
    return summarise_parts(CONTENT, 1)


def test_parts_are_summarised_apart(results):
    assert list(results["untrained"]["conditions"]) == ["raw 2 even"]
    assert list(results["doubled"]["conditions"]) == ["half", "whole"]
    assert list(results["lengths"]["conditions"]) == ["20 s", "2 min, 2 spk"]
    assert results["trained"]["conditions"] == {}
    assert set(results["goals"]) == {"untrained", "windows", "lengths", "no PLDA"}
    assert set(results["reliability"]) == {"windows"}


def test_cells_are_the_measure_the_number_and_how_often_it_is_right(results):
    table = sections.number_table(results["untrained"], "k")
    assert table.columns == HEADS
    # K .95 against .9, mean number 2.5, right in one of two.
    assert table.rows[0] == (
        "raw 2 even",
        "2.0",
        "80",
        "**.950 / 2.5 / 50**",
        ".900 / 2.0 / 100",
    )
    # Means: how far the number is off, (1/2 + 0) / 2.
    assert table.rows[1][3] == ".950 / 25 % / 50"
    short = sections.average_table(results["untrained"], "k")
    assert short.rows == (("g", ".950 / 50", ".900 / 100"),)


def test_doubled_sessions_are_shown_before_and_after(results):
    table = sections.drift_table(results["drift"])
    assert table.rows[0] == ("whole", "1", "2.0 > 4.0 / 0", "2.0 > 2.0 / 100")
    assert table.rows[1][0] == "*all*"


def test_sections_say_what_they_show(results):
    text = "\n".join(sections.untrained_section(results["untrained"], "No PLDA"))
    assert text.startswith("## No PLDA\n")
    assert "K of sms minus that of each peer" in text
    text = "\n".join(sections.windows_section(results["windows"]))
    assert "The share of windows right of sms minus that of each peer" in text
    text = "\n".join(sections.lengths_section(results["lengths"], results["drift"], 10))
    assert "played 10 times" in text
    assert "### Doubled sessions" in text


def test_sections_of_nothing_are_left_out():
    nothing = {"conditions": {}, "averages": {}}
    assert list(sections.untrained_section(nothing, "x")) == []
    assert list(sections.untrained_section(None, "x")) == []
    assert list(sections.windows_section(nothing)) == []
    assert list(sections.lengths_section(nothing, {}, 10)) == []


def test_reliability_is_what_was_said_what_was_right_and_the_error(results):
    told = results["reliability"]
    table = sections.reliability_table(told)
    assert table.rows == (
        (
            "windows, no PLDA",
            "sms",
            ".950",
            ".750",
            ".200",
            ".900",
            "1.00",
            ".100",
            ".900",
        ),
    )
    assert "expected calibration error" in "\n".join(sections.reliability_section(told))
    assert list(sections.reliability_section({}))[1] == (
        "No method that was run says how sure it is.\n"
    )


def test_pictures_are_drawn(results, tmp_path):
    pytest.importorskip("matplotlib")
    pictures.draw_reliability(tmp_path, results["reliability"])
    pictures.draw_lengths(tmp_path, results["lengths"]["conditions"])
    pictures.draw_speakers(tmp_path, "raw", results["untrained"]["conditions"])
    written = {path.name for path in tmp_path.glob("*.png")}
    assert written == {"reliability.png", "lengths.png", "raw.png"}


def test_no_lengths_no_picture(tmp_path):
    pictures.draw_lengths(tmp_path, {})
    assert list(tmp_path.iterdir()) == []
