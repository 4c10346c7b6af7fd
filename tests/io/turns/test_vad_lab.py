"""Label files of speech."""

import re

import pytest

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.turns.uem import read_vad_lab, write_vad_lab
from sms_diar.types import Segment


@pytest.fixture
def file(tmp_path):
    """Write text to a file and give its path."""

    def write(content):
        path = tmp_path / "x.lab"
        path.write_text(content)
        return path

    return write


def fails(read, path, message):
    """Whether reading fails with exactly this message after ``path``."""
    with pytest.raises(DataFormatError) as caught:
        read(path)
    assert str(caught.value) == f"{path}{message}"


def test_vad_lab_keeps_the_regions_of_one_label(file):
    path = file("0.5 1 speech\n1 2 noise\n2.5 3 speech\n")
    assert read_vad_lab(path, "r") == [
        Segment("r", 0.5, 1.0),
        Segment("r", 2.5, 3.0),
    ]
    assert len(read_vad_lab(path, "r", label=None)) == 3
    fails(
        lambda path: read_vad_lab(path, "r", label="sp"),
        path,
        ": no region is labelled 'sp', the labels are 'speech', 'noise'; choose the "
        "one for speech",
    )


def test_vad_lab_errors_have_a_line(file):
    path = file("0.5 1 speech\n2 1 speech\n")
    fails(
        lambda path: read_vad_lab(path, "r"),
        path,
        ":2: segment of 'r' must satisfy 0 <= start < end, got start=2.0, end=1.0\n"
        "    2 1 speech",
    )


def test_what_is_written_reads_back(tmp_path):
    path = tmp_path / "x.lab"
    regions = [Segment("r", 2.0, 3.0), Segment("r", 0.25, 1.0)]
    write_vad_lab(path, regions)
    assert path.read_text() == "0.25 1.0 speech\n2.0 3.0 speech\n"
    assert read_vad_lab(path, "r") == sorted(regions)


def test_a_file_is_of_one_recording(tmp_path):
    regions = [Segment("a", 0, 1), Segment("b", 0, 1)]
    with pytest.raises(InvalidParameterError, match="one recording, got a, b"):
        write_vad_lab(tmp_path / "vad.lab", regions)


def test_paths_and_values_are_not_confused(tmp_path):
    message = (
        "write_vad_lab: regions must be an iterable of Segment, got the path 'x.lab'; "
        "read it with read_vad_lab"
    )
    with pytest.raises(InvalidParameterError, match=f"^{re.escape(message)}$"):
        write_vad_lab(tmp_path / "y.lab", "x.lab")
    message = "read_vad_lab: path must be the path of a file, got a value of type list"
    with pytest.raises(InvalidParameterError, match=f"^{re.escape(message)}$"):
        read_vad_lab([Segment("a", 0, 1)], "a")
