"""Tables as text."""

import pytest

from sms_diar.report.tables import Table

TABLE = Table(("set", "K", "≥5 %"), (("a_1", ".92", "3"), ("b", "1.00", "12")))


def test_markdown():
    assert TABLE.markdown() == (
        "| set | K | ≥5 % |\n| :-- | --: | --: |\n"
        "| a_1 | .92 | 3 |\n| b | 1.00 | 12 |\n"
    )


def test_latex_escapes_what_it_must():
    assert TABLE.latex() == (
        "\\begin{tabular}{lrr}\n\\toprule\n"
        "set & K & $\\geq$5 \\% \\\\\n\\midrule\n"
        "a\\_1 & .92 & 3 \\\\\nb & 1.00 & 12 \\\\\n"
        "\\bottomrule\n\\end{tabular}\n"
    )


def test_csv_quotes_commas():
    assert Table(("a", "b"), (("x,y", "1"),)).csv() == 'a,b\n"x,y",1\n'


def test_plain_columns_align():
    assert TABLE.plain() == "set     K  ≥5 %\na_1   .92     3\nb    1.00    12\n"


def test_rows_must_fill_the_columns():
    with pytest.raises(ValueError, match="1 cells under 2 heads"):
        Table(("a", "b"), (("x",),))


@pytest.mark.parametrize("format", ["markdown", "latex", "csv"])
def test_the_form_is_chosen_by_name(format):
    assert TABLE.text(format) == getattr(TABLE, format)()
    assert TABLE.text() == TABLE.plain()
