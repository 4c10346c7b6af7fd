"""The printed table of Gaussian clusters, and measured figures beside it."""

import numpy as np
import pytest

from recipes.synthetic import tables
from recipes.synthetic.printed import read_printed, worst_deviation
from sms_diar.errors import DataFormatError


def test_printed_table_has_all_rows_of_the_paper(root):
    printed = read_printed(root / "recipes" / "synthetic" / "paper.csv")
    assert len(printed) == 12
    assert printed["set4", "points-ms"]["n_clusters"] == 3.35
    # K is the geometric mean of ACP and ALP, up to the printed digits
    for figures in printed.values():
        assert figures["k"] == pytest.approx(
            np.sqrt(figures["acp"] * figures["alp"]), abs=0.012
        )


def test_a_broken_printed_table_is_named(tmp_path):
    path = tmp_path / "paper.csv"
    path.write_text("set,method,acp\nset1,MS,.9\n")
    with pytest.raises(DataFormatError) as caught:
        read_printed(path)
    assert (caught.value.path, caught.value.line) == (path, 2)


def test_worst_deviation_looks_at_purities_only():
    gap = {"acp": 0.01, "alp": -0.04, "k": 0, "pur_cd": 0, "pur_dc": 0, "g": 0.02}
    assert worst_deviation({**gap, "n_clusters": 3.0}) == 0.04


def test_a_cell_has_the_measured_and_the_printed_value():
    sms = {name: {"mean": 0.9234, "std": 0.01} for name in tables.HEADS}
    sms["k"] |= {"printed": 0.92, "difference": 0.0034}
    row = tables.compared({"set1": {"points-sms": sms}}).rows[0]
    assert row[:2] == ("set1", "points-sms")
    assert row[2 + list(tables.HEADS).index("k")] == ".923 (.92, +.003)"
    assert row[2] == ".923"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.9234, ".923"), (1.0, "1.00"), (0.99951, "1.00"), (0.0, ".000")],
)
def test_shares_are_written_as_the_field_does(value, text):
    assert tables.share(value) == text
