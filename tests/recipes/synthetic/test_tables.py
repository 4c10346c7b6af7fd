"""Measured figures beside printed ones."""

import pytest

from recipes.synthetic import tables as printed_tables


def figure(mean, printed=None):
    entry = {"mean": mean, "std": 0.01}
    if printed is not None:
        entry.update(printed=printed, difference=mean - printed)
    return entry


ROWS = {
    "set1": {
        "points-sms": {
            name: figure(6.04, 6.2) if name == "n_clusters" else figure(0.923, 0.92)
            for name in printed_tables.HEADS
            if name != "n_major"
        }
        | {"n_major": figure(3.0)},
        "points-dsms": {name: figure(0.9) for name in printed_tables.HEADS},
    }
}


def test_measured_stands_beside_printed():
    row = printed_tables.compared(ROWS).rows[0]
    assert row[:3] == ("set1", "points-sms", ".923 (.92, +.003)")
    assert row[-2:] == ("6.0 (6.2, -0.2)", "3.0")
    assert printed_tables.compared(ROWS).rows[1][2] == ".900"


def test_three_lines_on_a_terminal_fit_eighty_columns():
    table = printed_tables.stacked(ROWS["set1"])
    assert [row[1] for row in table.rows] == [
        "measured",
        "printed",
        "difference",
        "measured",
    ]
    assert max(len(line) for line in table.plain().splitlines()) <= 80


def test_spread_shows_standard_deviations():
    assert printed_tables.spread(ROWS).rows[0][:3] == ("set1", "points-sms", ".010")


def test_tidy_has_a_line_per_figure():
    table = printed_tables.tidy({"literal": ROWS}, {"literal": {"set1": 20}})
    assert len(table.rows) == 16
    assert table.rows[0][:4] == ("literal", "set1", "points-sms", "acp")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.9234, ".923"), (1.0, "1.00"), (0.99951, "1.00"), (0.0, ".000")],
)
def test_shares_are_written_as_the_field_does(value, text):
    assert printed_tables.share(value) == text
