"""Results of scoring as tables and text."""

from sms_diar.metrics import score_diarization
from sms_diar.report.scores import (
    count_table,
    error_rttm,
    fitting_table,
    mapping_table,
    score_table,
    speaker_counts,
)
from sms_diar.types import Segment, Turn


def turn(recording, start, end, speaker):
    return Turn(Segment(recording, start, end), speaker)


REF = [turn("r", 0.0, 6.0, "A"), turn("r", 6.0, 10.0, "B"), turn("q", 0.0, 5.0, "A")]
HYP = [turn("r", 0.0, 10.0, "x"), turn("q", 0.0, 5.0, "x")]
RESULT = score_diarization(REF, HYP)


def test_a_table_ends_with_the_pooled_and_the_mean_row():
    table = score_table(RESULT, names=("der", "n_ref"))
    # r: 4 of 10 s wrong; pooled 4 / 15, mean 0.4 / 2
    assert table.rows == (
        ("q", "0.00", "1"),
        ("r", "40.00", "2"),
        ("POOLED", "26.67", "3"),
        ("MEAN", "20.00", "1.50"),
    )


def test_a_narrow_terminal_gets_fewer_columns():
    wide = fitting_table(RESULT, 200, only_overall=False)
    narrow = fitting_table(RESULT, 40, only_overall=False)
    assert len(narrow.columns) < len(wide.columns)
    assert max(len(line) for line in narrow.plain().splitlines()) <= 40
    assert fitting_table(RESULT, 1, only_overall=True).columns == ("recording", "DER %")


def test_mapping_and_counts():
    assert mapping_table(RESULT).rows == (
        ("q", "A", "x", "0.00"),
        ("r", "A", "x", "40.00"),  # 6 s shared, union 10
        ("r", "B", "-", "100.00"),
    )
    assert count_table(RESULT).rows == (("1", "1"), ("2", "1"))
    assert speaker_counts(RESULT) == {
        "ands": 1.0,
        "true": 1.5,
        "mean_absolute_error": 0.5,
        "exact": 0.5,
    }


def test_neighbouring_errors_of_a_kind_are_joined():
    # z begins at 7 beside x: the confusion of B goes on
    hyp = [turn("r", 0.0, 10.0, "x"), turn("r", 7.0, 8.0, "z")]
    text = error_rttm(score_diarization(REF[:2], hyp))
    assert text == (
        "SPEAKER r 1 6.000 1.000 <NA> <NA> confusion:B>x 1 <NA>\n"
        "SPEAKER r 1 7.000 1.000 <NA> <NA> false_alarm:x 1 <NA>\n"
        "SPEAKER r 1 8.000 2.000 <NA> <NA> confusion:B>x 1 <NA>\n"
    )
