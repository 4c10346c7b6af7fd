"""Means, paired differences and their tables."""

import pytest

from benchmarks.compare.report import (
    average_table,
    condition_table,
    difference_table,
    meeting_table,
    signed,
)
from benchmarks.compare.summary import (
    summarise_conditions,
    summarise_drift,
    summarise_meeting,
)

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


def test_a_table_has_a_row_per_condition_and_a_column_per_method(results):
    table = condition_table(summarise_conditions(results, CONDITIONS, 1), "k")
    assert table.columns == ("condition", "spk", "rows", "sms", "ahc", "kmns")
    # Right in one session of two, in none, in both.
    cells = (".800 / 3.5 / 50", ".800 / 5.0 / 0", "**1.00 / 3.0 / 100**")
    assert table.rows[0] == ("a 3 spk", "3.0", "90", *cells)
    assert table.rows[1][-1] == "-"


def test_means_and_differences_have_a_row_per_group(results):
    summary = summarise_conditions(results, CONDITIONS, 1)
    assert average_table(summary, "k").rows[0] == (
        *("one", ".800 / 50 %", ".800 / 0 %", "1.00 / 100 %"),
    )
    table = difference_table(summary, "g")
    assert table.columns == ("mean of", "ahc", "kmns")
    assert table.rows[0][1].startswith("+.150 [")
    assert table.rows[1][2] == "-"


def test_drift_is_the_number_after_doubling_minus_the_number_before():
    def found(*numbers):
        return [{"methods": {"sms": {"found": float(n)}}} for n in numbers]

    conditions = {
        "half": {"part": "doubled", "doubles": ""},
        "double": {"part": "doubled", "doubles": "half"},
        "cut": {"part": "lengths", "doubles": ""},
        "cut x 10": {"part": "lengths", "doubles": "cut"},
    }
    sessions = {"half": found(3, 2), "double": found(3, 4)}
    # A cut may have been drawn more often than it was repeated; it is not pooled.
    sessions |= {"cut": found(1, 5), "cut x 10": found(8)}
    drift = summarise_drift(sessions, conditions)
    assert set(drift) == {"double", "cut x 10", "all"}
    assert drift["double"]["methods"]["sms"] == {
        **{"before": 2.5, "after": 3.5, "drift": 1.0, "same": 0.5},
    }
    assert drift["cut x 10"]["methods"]["sms"]["drift"] == 7.0
    assert drift["all"]["pairs"] == 2


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
    table = meeting_table(rows)
    assert table.columns == ("DER % / speakers", "known")
    assert table.rows == (("sms", "20.00 / 4.0"),)
    assert summarise_meeting({}) == {}
