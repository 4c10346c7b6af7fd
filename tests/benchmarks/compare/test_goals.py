"""What the default is held to."""

import pytest

from benchmarks.compare.goal_text import (
    below_table,
    goal_lines,
    goal_section,
    goal_table,
    method_table,
)
from benchmarks.compare.goals import summarise_drift, summarise_goals


def condition(part, *, speakers=3, doubles="", **more):
    return {"part": part, "speakers": speakers, "doubles": doubles, **more}


def session(true, seconds=60.0, **methods):
    """Figures of methods: K, share right and speakers found."""
    return {
        "session": {"n_speakers": true, "seconds": seconds},
        "methods": {
            name.replace("_", "-"): {"k": k, "right": right, "found": float(found)}
            for name, (k, right, found) in methods.items()
        },
    }


CONDITIONS = {
    "plda": condition("trained"),
    "segments": condition("untrained"),
    "talk": condition("windows"),
    "single": condition("untrained", speakers=1),
    "long": condition("lengths", speakers=8, seconds=10_800.0),
    "half": condition("doubled"),
    "double": condition("doubled", doubles="half"),
}
SESSIONS = {
    "plda": [session(3, sms=(0.9, 0.9, 3), vbx=(0.8, 0.8, 3))],
    # K of the best rival is .95, ahead by .05; the share right does not matter here.
    "segments": [
        session(3, sms=(0.8, 0.1, 1), nme_sc=(0.9, 1, 3), ahc=(0.7, 1, 3)),
        session(3, sms=(1.0, 0.1, 3), nme_sc=(1.0, 1, 3), ahc=(0.9, 1, 5)),
    ],
    # Here it does: .9 against .8.
    "talk": [session(4, sms=(0.1, 0.9, 5), nme_sc=(1, 0.8, 4), ahc=(1, 0.5, 9))],
    "single": [
        session(1, sms=(1, 1, 1), nme_sc=(1, 1, 2)),
        session(1, sms=(1, 1, 2), nme_sc=(1, 1, 2)),
    ],
    "long": [session(8, 10_800.0, sms=(0.5, 0.5, 11))],
    "half": [session(3, sms=(1, 1, 3)), session(3, sms=(1, 1, 2))],
    "double": [session(3, sms=(1, 1, 3)), session(3, sms=(1, 1, 4))],
}


@pytest.fixture
def goals():
    return summarise_goals(SESSIONS, CONDITIONS, 1)


def test_the_worst_condition_is_that_farthest_below_its_best_rival(goals):
    assert set(goals) == {"trained", "untrained", "windows", "lengths", "no PLDA"}
    worst = goals["no PLDA"]["worst"]
    assert (worst["condition"], worst["rival"]) == ("segments", "nme-sc")
    assert worst["difference"] == pytest.approx(-0.05)
    assert [row["condition"] for row in goals["no PLDA"]["below"]] == ["segments"]
    assert goals["windows"]["worst"]["difference"] == pytest.approx(0.1)
    assert goals["trained"]["worst"]["rival"] == "vbx"
    # Nobody else ran for three hours.
    assert goals["lengths"]["worst"] is None
    assert goals["lengths"]["conditions"] == 0


def test_means_are_over_the_conditions_that_a_rival_ran_in(goals):
    means = goals["no PLDA"]["means"]
    # NME-SC: -.05, +.1 and 0; AHC: (.1 + .1) / 2 and .4.
    assert means["nme-sc"]["estimate"] == pytest.approx(0.05 / 3)
    assert means["nme-sc"]["conditions"] == 3
    assert means["ahc"]["estimate"] == pytest.approx(0.25)
    assert set(goals["trained"]["means"]) == {"vbx"}


def test_numbers_are_counted_over_sessions(goals):
    ours = goals["no PLDA"]["numbers"]["sms"]
    assert ours["single"] == [1, 2]
    # 1 for 3, 3 for 3, 5 for 4; three hours are too long to count.
    assert ours["exact"] == [1, 3]
    assert ours["within"] == [2, 3]
    # Of four sessions of three speakers and more, one came out as one.
    assert ours["collapsed"] == [1, 4]
    assert goals["no PLDA"]["numbers"]["nme-sc"]["exact"] == [3, 3]
    assert goals["lengths"]["long"] == {"sms": [11.0]}


@pytest.mark.parametrize(
    ("seconds", "counted"), [(29.9, 0), (30.0, 1), (600.0, 1), (600.1, 0)]
)
def test_sessions_of_half_a_minute_to_ten_are_counted(seconds, counted):
    sessions = {"segments": [session(2, seconds, sms=(1, 1, 2))]}
    found = summarise_goals(sessions, CONDITIONS, 1)["untrained"]["numbers"]["sms"]
    assert found["exact"] == [counted, counted]


def test_drift_is_the_number_after_minus_that_before():
    drift = summarise_drift(SESSIONS, CONDITIONS)
    assert set(drift) == {"double", "all"}
    found = drift["double"]["methods"]["sms"]
    assert found == {"before": 2.5, "after": 3.5, "drift": 1.0, "same": 0.5}
    assert drift["all"]["pairs"] == 2


def test_repeats_are_paired_with_what_they_repeat_but_not_pooled():
    conditions = {
        "cut": condition("lengths"),
        "cut x 10": condition("lengths", doubles="cut"),
    }
    sessions = {
        "cut": [session(2, sms=(1, 1, 2), ahc=(1, 1, 2)), session(2, sms=(1, 1, 2))],
        "cut x 10": [session(2, sms=(1, 1, 9), ahc=(1, 1, 5))],
    }
    drift = summarise_drift(sessions, conditions)
    assert list(drift) == ["cut x 10"]
    assert drift["cut x 10"]["pairs"] == 1
    assert drift["cut x 10"]["methods"]["sms"]["drift"] == 7.0


def test_the_table_has_what_was_wanted_and_marks_what_is_missed(goals):
    table = goal_table(goals)
    assert table.columns[:3] == ("goal", "wanted", "with a PLDA model")
    rows = {row[0]: row[1:] for row in table.rows}
    wanted, trained, untrained, windows, lengths, every = rows[
        "worst condition, against its best rival"
    ]
    assert wanted == ">= -.020"
    assert trained == "+.100 (plda; vbx)"
    assert untrained == every == "**-.050 (segments; nme-sc)**"
    assert (windows, lengths) == ("+.100 (talk; nme-sc)", "-")
    assert rows["conditions more than .020 below"][-1] == "**1 of 3**"
    assert rows["one speaker found as one"][0] == ">= 90 %"
    assert rows["one speaker found as one"][-1] == "**50 % (1 of 2)**"
    assert rows["found as one, of 3 speakers or more"][-1] == "**25 % (1 of 4)**"
    assert rows["8 speakers, 3 h: found"] == (
        "8 +- 2",
        "-",
        "-",
        "-",
        "**11**",
        "**11**",
    )
    assert "mean difference to hdbscan" not in rows


def test_other_methods_are_counted_alike(goals):
    table = method_table(goals["no PLDA"]["numbers"])
    assert table.columns == ("", "sms", "nme", "ahc")
    assert table.rows[0] == (
        "one speaker found as one",
        "50 % (1 of 2)",
        "0 % (0 of 2)",
        "-",
    )


def test_what_misses_the_goal_is_listed(goals):
    table = below_table(goals["no PLDA"]["below"])
    assert table.rows == (("segments", ".900", ".950", "nme", "-.050"),)


def test_goals_read_as_sentences(goals):
    lines = goal_lines(goals, summarise_drift(SESSIONS, CONDITIONS))
    assert lines[0] == (
        "with a PLDA model: worst condition +.100 (plda, against vbx); 0 of 1 more "
        "than .020 below their best rival; on average against vbx +.100."
    )
    assert lines[-1] == (
        "doubled sessions: +1.00 speakers on average, the same number in 50 %."
    )
    text = "\n".join(goal_section(goals, {}, "Goals"))
    assert text.startswith("## Goals\n")
    assert "Numbers of speakers without a PLDA model, all methods:" in text
    assert list(goal_section({}, {}, "Goals")) == []
