"""The paper's table of speakers beside measured figures."""

import numpy as np
import pytest

from recipes._common import speaker_text
from recipes._common.speaker_report import read_printed
from sms_diar.errors import DataFormatError


def test_printed_table_has_all_rows_of_the_paper(root):
    printed = read_printed(root / "recipes" / "speakers" / "paper.csv")
    assert list(printed) == ["3", "7", "15", "22", "30", "60"]
    assert sum(entry["wins"] for entry in printed.values()) == 88
    assert printed["60"]["methods"]["sms-paper"]["n_clusters"] == {
        "mean": 86.4,
        "std": 5.6,
    }
    for entry in printed.values():
        for figures in entry["methods"].values():
            product = figures["acp"]["mean"] * figures["alp"]["mean"]
            # A mean of roots is not the root of means: printed K is .01 off at most.
            assert figures["k"]["mean"] == pytest.approx(np.sqrt(product), abs=0.015)


def test_a_broken_printed_table_is_named(tmp_path):
    path = tmp_path / "paper.csv"
    path.write_text("speakers,method,acp\n3,MS,.9\n")
    with pytest.raises(DataFormatError) as caught:
        read_printed(path)
    assert (caught.value.path, caught.value.line) == (path, 2)


def test_figures_are_written_as_in_the_paper():
    assert speaker_text.spread("k", {"mean": 0.857, "std": 0.081}) == ".86(.08)"
    assert speaker_text.spread("k", {"mean": 0.999, "std": 0.0}) == "1.00(.00)"
    assert speaker_text.spread("n_clusters", {"mean": 6.94, "std": 3.1}) == "6.9(3.1)"
