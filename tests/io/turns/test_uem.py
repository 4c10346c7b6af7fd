"""Regions to be scored, and regions of speech."""

from functools import partial

import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.io.turns.uem import (
    read_uem,
    read_vad_lab,
    scan_uem,
    write_uem,
    write_vad_lab,
)
from sms_diar.timeline.regions import regions_of
from sms_diar.timeline.ticks import ticks_of
from sms_diar.types import Segment


def test_regions_are_read_in_file_order(tmp_path):
    path = tmp_path / "x.uem"
    path.write_text(";; comment\n\nb 1 2.5 4\na NA 0 1.001 more\n")
    uem = read_uem(path)
    assert uem.recordings == ("b", "a")
    assert uem.channels == ("1", "NA")
    assert uem.start.tolist() == [ticks_of("2.5"), 0]
    assert uem.end.tolist() == [ticks_of(4), ticks_of("1.001")]
    assert uem.line.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a 1 5", "a region has 4 fields"),
        ("a 1 5 5", "0 <= start < end, got 5 and 5"),
        ("a 1 -1 5", "0 <= start < end"),
        ("a 1 x 5", "start must be a number of seconds, got 'x'"),
    ],
)
def test_bad_lines_are_named(refused, tmp_path, text, problem):
    refused(read_uem, f"a 1 0 1\n{text}\n", problem, line=2)
    assert [remark.line for remark in scan_uem(tmp_path / "x").problems] == [2]


def test_regions_survive_a_round_trip(tmp_path):
    path = tmp_path / "x.uem"
    regions = [Segment("a", 0.0, 1e-5), Segment("a", 0.1, 0.3), Segment("a", 7.0, 1e5)]
    write_uem(path, regions)
    assert path.read_text().splitlines()[0] == "a 1 0.0 0.00001"
    assert regions_of(read_uem(path), "a") == regions


def test_labels_select_regions_of_speech(tmp_path, refused):
    path = tmp_path / "x"
    path.write_text("0.5 1 speech\n1 2 noise\n2.5 3 speech\n")
    speech = [Segment("r", 0.5, 1.0), Segment("r", 2.5, 3.0)]
    assert read_vad_lab(path, "r") == speech
    assert len(read_vad_lab(path, "r", label=None)) == 3
    other = partial(read_vad_lab, recording="r", label="sp")
    refused(other, None, "'sp', the labels are 'speech', 'noise'")
    read = partial(read_vad_lab, recording="r")
    refused(read, "0.5 1 speech\n2 1 speech\n", "got start=2.0, end=1.0", line=2)


def test_labels_that_are_written_read_back(tmp_path):
    path = tmp_path / "x.lab"
    regions = [Segment("r", 2.0, 3.0), Segment("r", 0.25, 1.0)]
    write_vad_lab(path, regions)
    assert path.read_text() == "0.25 1.0 speech\n2.0 3.0 speech\n"
    assert read_vad_lab(path, "r") == sorted(regions)
    with pytest.raises(InvalidParameterError, match="one recording, got a, b"):
        write_vad_lab(path, [Segment("a", 0, 1), Segment("b", 0, 1)])
