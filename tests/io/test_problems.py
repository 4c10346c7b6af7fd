"""Problems of files, raised or shown to people."""

import pytest

from sms_diar.errors import DataFormatError
from sms_diar.io.problems import refuse_errors, summarised
from sms_diar.types import Problem


def test_many_problems_of_a_kind_are_summarised():
    problems = [
        Problem("text", "x", n, severity="warning", kind="self-overlap")
        for n in range(1, 8)
    ]
    assert summarised(problems) == [
        "x:1: warning: text",
        "x:2: warning: text",
        "x:3: warning: text",
        "x: 4 more of the kind: self-overlap",
    ]


def test_the_first_error_is_raised_with_its_line():
    warning = Problem("odd", "x", 1, severity="warning")
    refuse_errors([warning])
    wrong = Problem("wrong", "x", 2, content="a line")
    with pytest.raises(DataFormatError) as caught:
        refuse_errors([warning, wrong, Problem("worse", "x", 3)])
    assert str(caught.value) == "x:2: wrong\n    a line"


@pytest.mark.parametrize(
    ("problem", "shown"),
    [
        (Problem("text"), "error: text"),
        (Problem("text", "x", severity="note"), "x: note: text"),
        (Problem("text", "x", 3, severity="warning"), "x:3: warning: text"),
        (Problem("text", "x", 3, recording="r"), "r: error: text"),
        (Problem("text", recording="r", segment="u"), "u: error: text"),
    ],
)
def test_a_problem_says_where_it_is(problem, shown):
    assert problem.with_severity() == shown
    assert str(problem) == shown.replace(f"{problem.severity}: ", "")
