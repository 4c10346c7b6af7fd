"""Names of files made of names of recordings and speakers."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.io.file_names import file_names
from sms_diar.io.registry import TURN_FORMATS, WRITTEN_FORMATS
from sms_diar.io.turns.files import read_annotation, write_turns
from sms_diar.types import Segment, Turn


@pytest.mark.parametrize("format", sorted({*WRITTEN_FORMATS} - {"rttm"}))
@pytest.mark.parametrize("letter", ["x", "é", "語", "🎤"])
def test_long_names_of_any_letters_are_written_one_file_each(tmp_path, format, letter):
    names = [letter * 120, letter * 120 + "a", letter * 300]
    turns = [Turn(Segment(name, 0.0, 1.0), "ann") for name in names]
    written = write_turns(tmp_path, turns, format)
    assert len({*written}) == len(names)
    assert all(len(os.fsencode(path.name)) <= 143 for path in written)
    assert {path.name[0] for path in written} == {letter}
    if TURN_FORMATS[format].names_recordings:
        assert {t.segment.recording for t in read_annotation(written)} == {*names}


@given(st.lists(st.text(max_size=80), max_size=6, unique=True))
def test_names_of_files_fit_and_differ(names):
    made = list(file_names(names).values())
    assert len({name.casefold() for name in made}) == len(names)
    assert all(0 < len(name.encode()) <= 125 for name in made)
