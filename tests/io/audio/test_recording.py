"""Recordings of data directories: tables, commands and what can be wrong."""

import shlex
import sys

import numpy as np
import pytest
import soundfile

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.audio.recording import (
    Piece,
    Unpacking,
    open_recording,
    parse_unpacking,
)
from sms_diar.io.kaldi.data_dir import DataDir, list_recordings
from sms_diar.types import Segment

PYTHON = shlex.quote(sys.executable)


@pytest.fixture
def folder(tmp_path):
    """Two recordings, one of them stereo."""
    ramp = np.arange(8000) / 32768
    soundfile.write(tmp_path / "a.wav", ramp, 8000)
    soundfile.write(tmp_path / "b.wav", np.stack([ramp, -ramp], axis=1), 8000)
    (tmp_path / "wav.scp").write_text("a a.wav\nb b.wav\n")
    (tmp_path / "segments").write_text("a1 a 0 0.5\na2 a 0.5 -1\nb1 b 0.2 0.4\n")
    return tmp_path


def first(folder, **options):
    [recording] = list_recordings(DataDir(folder), ids=["a1"])[0]
    with open_recording(recording, **options) as audio:
        return audio.read(0, 3) * 32768


def refusal(folder, error=DataFormatError, **options):
    with pytest.raises(error) as caught:
        first(folder, **options)
    return str(caught.value)


def test_segments_are_grouped_by_recording(folder):
    recordings, problems = list_recordings(DataDir(folder))
    assert [(r.id, r.pieces) for r in recordings] == [
        ("a", (Piece("a1", 0.0, 0.5), Piece("a2", 0.5, None))),
        ("b", (Piece("b1", 0.2, 0.4),)),
    ]
    assert problems == []


def test_without_segments_a_recording_is_one_segment(folder):
    (folder / "segments").unlink()
    recordings, _ = list_recordings(DataDir(folder))
    assert [r.pieces for r in recordings] == [
        (Piece("a", 0.0, None),),
        (Piece("b", 0.0, None),),
    ]


def test_segments_can_be_given_and_chosen(folder):
    windows = {"w1": Segment("b", 0.0, 0.1), "w2": Segment("a", 0.0, 0.1)}
    recordings, _ = list_recordings(DataDir(folder), segments=windows, ids=["w1"])
    assert [(r.id, r.pieces) for r in recordings] == [("b", (Piece("w1", 0.0, 0.1),))]
    assert [r.id for r in list_recordings(DataDir(folder), whole=True)[0]] == ["a", "b"]


def test_bad_lines_are_listed_and_the_others_kept(folder):
    (folder / "segments").write_text("a1 a 0 0.5\na2 a 0.5 0.5\nx1 x 0 1\nb1 b 0 1\n")
    recordings, problems = list_recordings(DataDir(folder))
    assert [piece.id for r in recordings for piece in r.pieces] == ["a1", "b1"]
    where = str(folder / "segments")
    assert [(problem.path, problem.line) for problem in problems] == [
        (where, 2),
        (where, 3),
    ]


def test_ids_that_are_not_there_are_refused(folder):
    with pytest.raises(InvalidParameterError, match="got 'zz'"):
        list_recordings(DataDir(folder), ids=["a1", "zz"])


@pytest.mark.parametrize(
    ("command", "want"),
    [
        ("sph2pipe -f wav -p -c 1 x.sph", Unpacking("x.sph", 1)),
        (
            "/opt/bin/sph2pipe -c 2 -f sph 'my calls/x.sph'",
            Unpacking("my calls/x.sph", 2),
        ),
        ("sph2pipe -f wav x.sph", Unpacking("x.sph", None)),
        ("flac -c -d -s x.flac", Unpacking("x.flac", None)),
        ("flac -dc x.flac", Unpacking("x.flac", None)),
        ("sph2pipe -f raw x.sph", None),
        ("sph2pipe -f wav -t 0:5 x.sph", None),
        ("sph2pipe -f wav x.sph y.wav", None),
        ("sph2pipe -c 3 -f wav x.sph", None),
        ("sph2pipe -f wav", None),
        ("sph2pipe -f wav $DIR/x.sph", None),
        ("flac -c x.flac", None),
        ("flac -c -d --skip=5 x.flac", None),
        ("sox x.wav -t wav -", None),
    ],
)
def test_commands_that_only_unpack_are_understood(command, want):
    assert parse_unpacking(command) == want


def test_sph2pipe_lines_are_read_without_running_anything(folder):
    (folder / "wav.scp").write_text("a sph2pipe -f wav -p -c 2 b.wav |\n")
    assert first(folder).tolist() == [0, -1, -2]
    assert first(folder, channel=1).tolist() == [0, -1, -2]  # the command comes first


def test_other_commands_need_permission(folder):
    (folder / "wav.scp").write_text(f"a {PYTHON} -c 'import pathlib' |\n")
    assert "need allow_commands=True" in refusal(folder)


def test_permitted_commands_are_run_without_a_shell(folder):
    program = (
        f"import sys, pathlib; sys.stdout.buffer.write("
        f'pathlib.Path("{folder}/a.wav").read_bytes())'
    )
    (folder / "wav.scp").write_text(f"a {PYTHON} -c '{program}' |\n")
    assert first(folder, allow_commands=True).tolist() == [0, 1, 2]


def test_commands_that_fail_say_why(folder):
    program = 'import sys; print("out of paper", file=sys.stderr); sys.exit(3)'
    (folder / "wav.scp").write_text(f"a {PYTHON} -c '{program}' |\n")
    assert "status 3: out of paper" in refusal(folder, allow_commands=True)
