"""Regions to be scored."""

import re

import pytest

from sms_diar.errors import DataFormatError
from sms_diar.io.turns.uem import read_uem, scan_uem, write_uem
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
    ("line", "problem"),
    [
        ("a 1 5", "a region has 4 fields"),
        ("a 1 5 5", "a region must satisfy 0 <= start < end, got 5 and 5"),
        ("a 1 -1 5", "a region must satisfy"),
        ("a 1 x 5", "start must be a number of seconds, got 'x'"),
    ],
)
def test_bad_lines_are_named(tmp_path, line, problem):
    path = tmp_path / "x.uem"
    path.write_text(f"a 1 0 1\n{line}\n")
    with pytest.raises(DataFormatError, match=re.escape(f"{path}:2: {problem}")):
        read_uem(path)
    assert [remark.line for remark in scan_uem(path).problems] == [2]


def test_regions_survive_a_round_trip(tmp_path):
    path = tmp_path / "x.uem"
    regions = [Segment("a", 0.0, 1e-5), Segment("a", 0.1, 0.3), Segment("a", 7.0, 1e5)]
    write_uem(path, regions)
    assert path.read_text().splitlines()[0] == "a 1 0.0 0.00001"
    assert regions_of(read_uem(path), "a") == regions
