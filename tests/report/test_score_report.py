"""The report on turns: text for people, plain values for machines."""

import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import compare, confidence_interval, score_diarization
from sms_diar.report.score_report import (
    ReportStyle,
    ScoreReport,
    SystemsReport,
    speaker_counts,
)
from sms_diar.types import Segment, Turn


def turn(recording, start, end, speaker):
    return Turn(Segment(recording, start, end), speaker)


REF = [turn("r", 0.0, 6.0, "A"), turn("r", 6.0, 10.0, "B"), turn("q", 0.0, 5.0, "A")]
HYP = [turn("r", 0.0, 10.0, "x"), turn("q", 0.0, 5.0, "x")]
RESULT = score_diarization(REF, HYP)
REPORT = ScoreReport(RESULT, "md-eval-22.pl")


def test_counts_of_speakers():
    assert speaker_counts(RESULT) == {
        "ands": 1.0,
        "true": 1.5,
        "mean_absolute_error": 0.5,
        "exact": 0.5,
    }


def test_a_report_prints_settings_figures_and_counts():
    assert str(REPORT) == (
        "- convention sms-diar\n"
        "- no collar\n"
        "- overlapped speech scored\n"
        "- no UEM, each recording scored from the first to the last boundary of "
        "reference and hypothesis\n"
        "- overlapping and touching turns of one speaker joined\n"
        "- speakers mapped on all time of the regions\n"
        "- recordings without reference are false alarm\n"
        "- md-eval: md-eval-22.pl\n"
        "\n"
        "recording  DER %  missed %  false al. %  confused %  JER %  scored s  "
        "speakers  found       K\n"
        # r: x stands for A, 4 of 10 s wrong. JER A 4/10, B 1. ACP 0.36 + 0.16, ASP 1
        "q           0.00      0.00         0.00        0.00   0.00      5.00  "
        "       1      1  1.0000\n"
        "r          40.00      0.00         0.00       40.00  70.00     10.00  "
        "       2      1  0.7211\n"
        "POOLED     26.67      0.00         0.00       26.67  46.67     15.00  "
        "       3      2  0.8718\n"
        "MEAN       20.00      0.00         0.00       20.00  35.00      7.50  "
        "    1.50      1  0.8606\n"
        "\n"
        "speakers found per recording 1.00 (true 1.50), mean absolute error 0.50, "
        "right in 50.0 % of the recordings"
    )


def test_words_become_comments_where_the_form_has_them():
    text = REPORT.text(ReportStyle("latex"))
    assert text.startswith("% convention sms-diar\n")
    assert "\n%\n\\begin{tabular}" in text
    assert REPORT.text(ReportStyle("csv")).count("# ") == 8


def test_a_width_limits_the_columns_of_plain_tables_only():
    plain = REPORT.text(ReportStyle(width=30)).partition("\n\n")[2]
    assert plain.startswith("recording  DER %  missed %\n")
    markdown = REPORT.text(ReportStyle("markdown", width=30))
    assert markdown == REPORT.text(ReportStyle("markdown"))


def test_a_form_that_does_not_exist_is_refused():
    with pytest.raises(InvalidParameterError, match="ReportStyle: format must be one"):
        ReportStyle("html")


def test_systems_are_shown_one_after_the_other_and_compared():
    options = {"n_samples": 50, "random_state": 0}
    results = {"one": RESULT, "true": score_diarization(REF, REF)}
    found = SystemsReport(
        {
            name: ScoreReport(one, "m", "der", confidence_interval(one, **options))
            for name, one in results.items()
        },
        (compare(results["true"], RESULT, **options),),
    )
    text = str(found)
    assert text.count("- convention sms-diar") == 1
    assert text.index("\n\none\n") < text.index("\n\ntrue\n") < text.index("true - one")
    record = found.to_dict()
    assert list(record) == ["settings", "systems", "comparisons"]
    (compared,) = record["comparisons"]
    assert (compared["system"], compared["with"]) == ("true", "one")
    assert compared["difference"]["estimate"] == pytest.approx(-4 / 15)
    assert (
        record["systems"]["one"]["intervals"]["der"]["estimate"] == compared["second"]
    )


def test_remarks_of_several_systems_come_once():
    lacking = score_diarization(REF, HYP[:1])
    reports = {name: ScoreReport(lacking, "m") for name in "ab"}
    assert [r.kind for r in SystemsReport(reports).remarks] == ["reference only"]
