"""The printed table of Gaussian clusters."""

import numpy as np
import pytest

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
    with pytest.raises(
        DataFormatError, match=r"paper\.csv:2: expected the columns set"
    ):
        read_printed(path)


def test_worst_deviation_looks_at_purities_only():
    gap = {"acp": 0.01, "alp": -0.04, "k": 0, "pur_cd": 0, "pur_dc": 0, "g": 0.02}
    assert worst_deviation({**gap, "n_clusters": 3.0}) == 0.04
