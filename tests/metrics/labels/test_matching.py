"""Labels of two tables, matched by id."""

import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import score_labels


def test_only_ids_of_both_sides_are_scored():
    # u1-u3: one cluster of a, a, b: ACP 4/9 + 1/9; one cluster against two: ARI 0
    truth = {"u1": "a", "u2": "a", "u3": "b", "u4": "b"}
    figures = score_labels(truth, {"u1": "1", "u2": "1", "u3": "1", "u5": "2"})
    assert (figures["n_segments"], figures["n_labels"]) == (3, 2)
    assert figures["acp"] == pytest.approx(5 / 9)
    assert (figures["ari"], figures["completeness"]) == (0.0, 1.0)


def test_tables_without_a_common_id_are_refused():
    message = (
        "^score_labels: truth and labels must share ids, got 1 and 2 ids and none in "
        "both$"
    )
    with pytest.raises(InvalidParameterError, match=message):
        score_labels({"a": "x"}, {"b": "x", "c": "x"})


def test_a_path_instead_of_a_table_is_refused():
    message = (
        r"^score_labels: labels must be a mapping from id to speaker, got 'found.csv'; "
        r"sms_diar.score_labels takes paths$"
    )
    with pytest.raises(InvalidParameterError, match=message):
        score_labels({"a": "x"}, "found.csv")
