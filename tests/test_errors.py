"""The exception tree."""

import pickle

import pytest

from sms_diar import errors
from sms_diar.errors import DataFormatError, SmsDiarError

TREE = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, SmsDiarError)
]


@pytest.mark.parametrize("kind", TREE, ids=lambda kind: kind.__name__)
def test_every_error_is_drawn_in_the_docstring(kind):
    assert kind.__name__ in errors.__doc__


@pytest.mark.parametrize(
    "error",
    [
        DataFormatError("bad", path="x.ark"),
        DataFormatError("bad", path="x.txt", line=3, text="a b"),
        errors.InvalidParameterError("must be y", owner="f", parameter="x"),
        errors.InvalidParameterError("must be y", parameter="x", mentions=("y",)),
        errors.MissingExtraError("needs y=True", mentions=("y",)),
        errors.MissingFileError("x: no such file"),
    ],
    ids=str,
)
def test_errors_survive_the_way_between_processes(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_an_invalid_parameter_is_named_as_data():
    error = errors.InvalidParameterError("must be y, got 3", owner="f", parameter="x")
    assert str(error) == "f: x must be y, got 3"
    assert (error.owner, error.parameter) == ("f", "x")


def test_a_format_error_names_file_line_and_text():
    error = DataFormatError("3 fields expected", path="x.txt", line=3, text="a b\n")
    assert str(error) == "x.txt:3: 3 fields expected\n    a b"
    assert (error.path, error.line) == ("x.txt", 3)


def test_no_message_steers_a_terminal_or_cannot_be_encoded():
    for kind in {*TREE} - {DataFormatError}:  # which has a constructor of its own
        message = str(kind("a\x1b[2J\u202e\udce9: wrong\n    line"))
        assert message == r"a\x1b[2J\u202e\udce9: wrong" + "\n    line"
