"""The report on labels."""

from sms_diar.metrics.labels import score_labels
from sms_diar.report.score_report import MEANINGS, LabelReport, label_table

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


def test_machines_get_the_figures_unrounded():
    assert ONE.to_dict() == {"acp": 5 / 9, "n_segments": 3}
