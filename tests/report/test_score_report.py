"""The report on turns: text for people, plain values for machines."""

import io
import json

import pandas as pd
import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import compare, confidence_interval, score_diarization
from sms_diar.report.score_report import (
    ReportStyle,
    ScoreReport,
    SystemsReport,
    speaker_counts,
)
from sms_diar.report.score_tables import ALL, HEADS
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
        "reference\n  and hypothesis\n"
        "- overlapping and touching turns of one speaker joined\n"
        "- speakers mapped on all time of the regions\n"
        "- recordings without reference are false alarm\n"
        "- md-eval: md-eval-22.pl\n"
        "\n"
        "recording  DER %  missed %  false al. %  confused %  JER %  "
        "scored s  speakers\n"
        # r: x stands for A, 4 of 10 s wrong. JER A 4/10, B 1
        "q           0.00      0.00         0.00        0.00   0.00      "
        "5.00         1\n"
        "r          40.00      0.00         0.00       40.00  70.00     "
        "10.00         2\n"
        "POOLED     26.67      0.00         0.00       26.67  46.67     "
        "15.00         3\n"
        "MEAN       20.00      0.00         0.00       20.00  35.00      "
        "7.50      1.50\n"
        "\n"
        "speakers found per recording 1.00 (true 1.50), mean absolute error 0.50, "
        "right\nin 50.0 % of the recordings"
    )


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
    assert text.startswith("% convention sms-diar\n")
    assert "\n%\n\\begin{tabular}" in text


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
