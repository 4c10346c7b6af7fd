"""Scores as tables."""

from sms_diar.metrics import score_diarization
from sms_diar.report.score_tables import (
    count_table,
    fitting_table,
    mapping_table,
    score_table,
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
