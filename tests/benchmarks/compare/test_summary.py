"""Means, paired differences and their texts."""

import pytest

from benchmarks.compare import text as compare_text
from benchmarks.compare.summary import summarise_conditions, summarise_meeting
from benchmarks.compare.words import signed

CONDITIONS = [
    {"name": "a 3 spk", "group": "one", "speakers": 3, "law": "all", "source": "s"},
    {"name": "b 3 spk", "group": "two", "speakers": 3, "law": "zipf", "source": "s"},
]


def figures(k, g, found):
    off = abs(found - 3)
    return {
        "k": k,
        "g": g,
        "right": g,
        "found": float(found),
        "count_error": float(off),
        "relative_error": off / 3,
        "exact": float(off == 0),
        "seconds": 0.5,
    }


def session(**methods):
    described = {"n_segments": 90, "n_speakers": 3, "eer": 0.1}
    return {"session": described, "methods": methods}


@pytest.fixture
def results():
    """Two sessions of each condition; k-means runs in the first condition only."""
    return {
        "b 3 spk/0": session(sms=figures(0.5, 0.7, 3), ahc=figures(0.5, 0.6, 9)),
        "b 3 spk/1": session(sms=figures(0.5, 0.9, 3), ahc=figures(0.5, 0.6, 3)),
        "a 3 spk/0": session(
            sms=figures(0.9, 0.9, 3), ahc=figures(0.8, 0.7, 4), kmeans=figures(1, 1, 3)
        ),
        "a 3 spk/1": session(
            sms=figures(0.7, 0.8, 4), ahc=figures(0.8, 0.7, 6), kmeans=figures(1, 1, 3)
        ),
    }


def test_means_are_over_sessions_and_averages_over_conditions(results):
    summary = summarise_conditions(results, CONDITIONS, 1)
    assert list(summary["conditions"]) == ["a 3 spk", "b 3 spk"]
    first = summary["conditions"]["a 3 spk"]
    assert first["runs"] == 2
    assert first["methods"]["sms"]["k"] == pytest.approx(0.8)
    assert first["methods"]["ahc"]["found"] == 5.0
    assert first["methods"]["sms"]["exact"] == 0.5
    # G of sms: .85 and .8; how far ahc is off: (1/3 + 1) / 2 and (2 + 0) / 2.
    average = summary["averages"]["all"]["methods"]
    assert average["sms"]["g"] == pytest.approx(0.825)
    assert average["ahc"]["relative_error"] == pytest.approx((2 / 3 + 1) / 2)
    assert average["kmeans"]["conditions"] == 1
    assert set(summary["averages"]) == {"one", "two", "all"}


def test_differences_are_paired(results):
    summary = summarise_conditions(results, CONDITIONS, 1)
    gap = summary["conditions"]["a 3 spk"]["paired"]["ahc"]["g"]
    # .9 - .7 and .8 - .7
    assert gap["estimate"] == pytest.approx(0.15)
    assert gap["low"] < 0.15 < gap["high"]
    # .15 here, (.1 + .3) / 2 there.
    every = summary["averages"]["all"]["paired"]
    assert every["ahc"]["g"]["estimate"] == pytest.approx(0.175)
    assert every["ahc"]["g"]["conditions"] == 2
    assert every["kmeans"]["g"]["conditions"] == 1


def test_the_overview_has_a_row_per_condition_and_a_column_per_method(results):
    table = compare_text.overview(summarise_conditions(results, CONDITIONS, 1))
    assert table.columns == ("condition", "EER %", "sms", "ahc", "kmns")
    assert table.rows[0] == (
        "a 3 spk",
        "10",
        ".800 / .850 / 3.5",
        ".800 / .700 / 5.0",
        "**1.00 / 1.00 / 3.0**",
    )
    assert table.rows[1][-1] == "-"
    # One condition of two: marked.
    assert table.rows[-1][-1] == "1.00 / 1.00 / 0 %+"


def test_differences_read_as_numbers_with_signs(results):
    table = compare_text.differences(summarise_conditions(results, CONDITIONS, 1), "g")
    assert table.columns == ("condition", "ahc", "kmns")
    assert table.rows[0][1].startswith("+.150 [")
    assert table.rows[1][2] == "-"


def test_headlines_say_the_worst_and_how_often_the_number_is_right():
    conditions = [
        {"name": "a", "group": "one", "speakers": 3, "law": "all", "source": "s"},
        {"name": "b", "group": "one", "speakers": 3, "law": "zipf", "source": "s"},
        {"name": "c", "group": "one", "speakers": 1, "law": "all", "source": "s"},
    ]
    one = {**figures(1, 1, 3), "exact": 1.0}
    pair = {"sms": figures(0.9, 0.9, 4), "nme-sc": figures(0.8, 0.8, 3)}
    worse = {"sms": figures(0.5, 0.5, 3), "nme-sc": figures(0.7, 0.7, 3)}
    results = {
        "a/0": session(**pair),
        "b/0": session(**worse),
        "c/0": session(**{"sms": one, "nme-sc": one}),
    }
    # Differences +.1, -.2 and 0; a has four speakers for three, c one for one.
    k, g, even, single = compare_text.headlines(
        summarise_conditions(results, conditions, 1)
    )
    assert k == (
        "K of sms minus that of nme-sc: -.033 [-.033, -.033] on average over 3 "
        "conditions; at least -.200 (b)."
    )
    assert g.startswith("G of sms")
    assert even == (
        "sms: 0 of 1 balanced sessions of 2 to 30 speakers with the right number (0 %)."
    )
    assert single == "sms: 1 of 1 sessions of one speaker found as one (100 %)."


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "+.500"), (-0.0123, "-.012"), (-0.0001, "+.000")]
)
def test_signs_are_those_of_the_printed_digits(value, text):
    assert signed(value) == text


def test_meetings_are_summarised_by_error_rate():
    def one(der):
        described = {"n_segments": 10, "n_speakers": 4, "vbx_rttm": 0.2}
        found = {"sms": {"der": der, "found": 4.0, "seconds": 1.0}}
        return {"session": described, "methods": found}

    rows = summarise_meeting({"known/0": one(0.1), "known/1": one(0.3)})
    assert rows["known"]["methods"]["sms"]["der"] == pytest.approx(0.2)
    table = compare_text.meeting(rows)
    assert table.columns == ("DER % / speakers", "known")
    assert table.rows == (("sms", "20.00 / 4.0"),)
    assert summarise_meeting({}) == {}
