"""Reports on turns and labels: text for people, plain values for machines."""

import io
import json

import pandas as pd
import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import (
    Settings,
    compare,
    confidence_interval,
    score_diarization,
    score_labels,
)
from sms_diar.report.score_report import (
    MEANINGS,
    LabelReport,
    ReportStyle,
    ScoreReport,
    SystemsReport,
    error_rttm,
    label_table,
)
from sms_diar.report.score_tables import ALL, HEADS, count_table, mapping_table
from sms_diar.types import Segment, Turn


def turn(recording, start, end, speaker):
    return Turn(Segment(recording, start, end), speaker)


REF = [turn("r", 0.0, 6.0, "A"), turn("r", 6.0, 10.0, "B"), turn("q", 0.0, 5.0, "A")]
HYP = [turn("r", 0.0, 10.0, "x"), turn("q", 0.0, 5.0, "x")]
RESULT = score_diarization(REF, HYP)
REPORT = ScoreReport(RESULT, "md-eval-22.pl")


TABLE = (
    "recording  DER %  missed %  false al. %  confused %  JER %  scored s  speakers\n"
    # r: x stands for A, 4 of 10 s wrong. JER A 4/10, B 1
    "q           0.00      0.00         0.00        0.00   0.00      5.00         1\n"
    "r          40.00      0.00         0.00       40.00  70.00     10.00         2\n"
    "POOLED     26.67      0.00         0.00       26.67  46.67     15.00         3\n"
    "MEAN       20.00      0.00         0.00       20.00  35.00      7.50      1.50\n"
    "\n"
    "speakers found per recording 1.00 (true 1.50), mean absolute error 0.50, "
    "right\nin 50.0 % of the recordings\n"
)


def test_a_report_prints_figures_counts_and_one_line_on_the_rules():
    line = "sms-diar rules: no collar, overlap scored, joint extent"
    assert str(REPORT) == TABLE + line


def test_all_rules_are_listed_below_the_table():
    assert REPORT.text(ReportStyle(explain=True)) == (
        TABLE + "- convention sms-diar\n"
        "- no collar\n"
        "- overlapped speech scored\n"
        "- no UEM, each recording scored from the first to the last boundary of "
        "reference\n  and hypothesis\n"
        "- overlapping and touching turns of one speaker joined\n"
        "- speakers mapped on all time of the regions\n"
        "- recordings without reference are false alarm\n"
        "- md-eval: md-eval-22.pl\n"
    )


@pytest.mark.parametrize("convention", ["sms-diar", "nist", "dscore", "pyannote"])
def test_the_line_on_the_rules_fits_eighty_columns(convention):
    settings = Settings.of(convention, collar=0.25)
    line = f"{convention} rules: {settings.summary()}"
    assert "collar 0.25 s per side, overlap scored, " in line
    assert len(line) <= 80


@pytest.mark.parametrize("everything", [False, True])
def test_a_report_fits_eighty_columns(everything):
    reference = [
        turn("a-recording-with-a-very-long-name-" * 2 + end, 0.0, 5.0, "A")
        for end in "xy"
    ]
    result = score_diarization(reference, reference)
    report = ScoreReport(result, "md-eval-22.pl -a f -c 0.25 -r ref.rttm -s hyp.rttm")
    text = report.text(ReportStyle(everything=everything, mapping=True))
    assert max(map(len, text.splitlines())) <= 80
    assert "DER %  missed %  false al. %  confused %" in text or everything
    if everything:
        for head in (HEADS[name] for name in ALL):
            assert head in text
    wide = report.text(ReportStyle(everything=everything, width=None))
    assert reference[0].segment.recording in wide
    assert max(map(len, wide.splitlines())) > 80


def test_wide_tables_have_all_main_columns():
    # ACP 0.36 + 0.16, ASP 1 in r
    wide = REPORT.text(ReportStyle(width=None))
    assert "scored s  speakers  found       K\n" in wide
    assert "       2      1  0.7211\n" in wide


def test_words_become_comments_where_the_form_has_them():
    text = REPORT.text(ReportStyle("latex"))
    assert text.startswith("\\begin{tabular}")
    assert "\\end{tabular}\n%\n% speakers found" in text
    assert text.endswith("% sms-diar rules: no collar, overlap scored, joint extent\n")


def test_csv_is_one_table():
    frame = pd.read_csv(io.StringIO(REPORT.text(ReportStyle("csv", mapping=True))))
    assert list(frame["recording"]) == ["q", "r", "POOLED", "MEAN"]
    assert list(frame["der"]) == pytest.approx([0.0, 0.4, 4 / 15, 0.2])
    assert json.loads(frame["mapping"][1]) == {"x": "A"}
    both = SystemsReport({"one": REPORT, "two": REPORT})
    frame = pd.read_csv(io.StringIO(both.text(ReportStyle("csv"))))
    assert list(frame.columns[:3]) == ["system", "recording", "scored"]
    assert list(frame["system"]) == ["one"] * 4 + ["two"] * 4


def test_a_width_limits_the_columns_of_plain_tables_only():
    assert REPORT.text(ReportStyle(width=1)).startswith("recording  DER %\n")
    plain = REPORT.text(ReportStyle(width=30))
    assert plain.startswith("recording  DER %  missed %\n")
    markdown = REPORT.text(ReportStyle("markdown", width=30))
    assert markdown == REPORT.text(ReportStyle("markdown"))


def test_a_form_that_does_not_exist_is_refused():
    with pytest.raises(InvalidParameterError, match="ReportStyle: format must be one"):
        ReportStyle("html")


def two_systems():
    options = {"n_samples": 50, "random_state": 0}
    results = {"one": RESULT, "true": score_diarization(REF, REF)}
    return SystemsReport(
        {
            name: ScoreReport(one, "m", "der", confidence_interval(one, **options))
            for name, one in results.items()
        },
        (compare(results["true"], RESULT, **options),),
    )


def test_systems_are_rows_of_one_table():
    found = two_systems()
    low, high = (
        f"{100 * value:+.2f}"
        for value in (
            found.comparisons[0].difference.low,
            found.comparisons[0].difference.high,
        )
    )
    lines = str(found).splitlines()
    assert lines[0].split() == [
        *("system", "DER", "%", "missed", "FA", "conf.", "JER", "%", "found"),
        *("diff.", "interval", "p"),
    ]
    assert lines[1].split() == ["one", "26.67", "0.00", "0.00", "26.67", "46.67", "1"]
    assert lines[2].split() == [
        *("true", "0.00", "0.00", "0.00", "0.00", "0.00", "1.50"),
        *("-26.67", low, high, "1.000"),  # r alone differs
    ]
    assert lines[4] == "found: speakers per recording; the reference has 1.50"
    assert max(map(len, lines)) <= 80
    assert "\nr  " not in str(found)


def test_details_are_tables_of_recordings_below_the_table_of_systems():
    text = two_systems().text(ReportStyle(details=True))
    assert text.startswith(f"{two_systems()}\n\none\nrecording  DER %")
    assert text.count("\nPOOLED") == 2
    assert text.count("rules") == 1


def test_csv_of_systems_has_the_comparison():
    found = two_systems()
    frame = pd.read_csv(io.StringIO(found.text(ReportStyle("csv"))))
    pooled = frame[(frame["system"] == "true") & (frame["recording"] == "POOLED")]
    assert pooled["difference"].tolist() == [found.comparisons[0].difference.estimate]
    assert pooled["p_value"].tolist() == [found.comparisons[0].p_value]
    assert frame["difference"].count() == 1


@pytest.mark.parametrize("width", [80, 60, 40])
def test_a_table_of_systems_fits_the_width(width):
    reports = two_systems()
    named = dict(zip(["a" * 30, "b" * 30], reports.systems.values(), strict=True))
    text = SystemsReport(named, reports.comparisons).text(ReportStyle(width=width))
    table = text.split("\n\n")[0].splitlines()
    assert max(map(len, table)) <= width
    assert "a…a" in table[1]


def test_remarks_of_several_systems_come_once():
    lacking = score_diarization(REF, HYP[:1])
    reports = {name: ScoreReport(lacking, "m") for name in "ab"}
    assert [r.kind for r in SystemsReport(reports).remarks] == ["reference only"]


def test_neighbouring_errors_of_a_kind_are_joined():
    # z begins at 7 beside x: the confusion of B goes on
    hyp = [turn("r", 0.0, 10.0, "x"), turn("r", 7.0, 8.0, "z")]
    text = error_rttm(score_diarization(REF[:2], hyp))
    assert text == (
        "SPEAKER r 1 6.000 1.000 <NA> <NA> confusion:B>x 1 <NA>\n"
        "SPEAKER r 1 7.000 1.000 <NA> <NA> false_alarm:x 1 <NA>\n"
        "SPEAKER r 1 8.000 2.000 <NA> <NA> confusion:B>x 1 <NA>\n"
    )


def test_mapping_and_counts():
    assert mapping_table(RESULT).rows == (
        ("q", "A", "x", "0.00"),
        ("r", "A", "x", "40.00"),  # 6 s shared, union 10
        ("r", "B", "-", "100.00"),
    )
    assert count_table(RESULT).rows == (("1", "1"), ("2", "1"))


ONE = LabelReport({"acp": 5 / 9, "n_segments": 3})
TWO = LabelReport({"acp": 1.0, "n_segments": 3})


def test_a_report_prints_a_measure_per_line():
    assert str(ONE) == (
        "what                    measure        value\n"
        "average cluster purity  acp         0.555556\n"
        "segments scored         n_segments         3"
    )


def test_every_measure_of_labels_has_words():
    figures = score_labels({"a": "x", "b": "y"}, {"a": "1", "b": "1"})
    assert set(figures) == set(MEANINGS)


def test_systems_stand_side_by_side():
    assert label_table({"one": ONE, "two": TWO}).csv() == (
        "measure,one,two\nacp,0.555556,1\nn_segments,3,3\n"
    )
