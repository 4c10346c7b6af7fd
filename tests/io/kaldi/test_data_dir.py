"""A data directory as one value."""

import pytest

from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.types import Segment


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "data"
    (folder / "flac").mkdir(parents=True)
    (folder / "flac" / "r.flac").write_bytes(b"")
    (folder / "wav.scp").write_text(
        "a x.ark:12\nc cat x |\nn none.wav\nr flac/r.flac\n"
    )
    (folder / "segments").write_text("r-1 r 0 1\nr-2 r 1 2\n")
    (folder / "utt2spk").write_text("r-1 s\nr-2 t\n")
    return folder


def test_tables_are_read_when_asked_for(folder):
    data = DataDir(folder)
    (folder / "spk2gender").write_text("s f\nt m\n")
    assert data.segments["r-2"] == Segment("r", 1.0, 2.0)
    assert data.utt2spk == {"r-1": "s", "r-2": "t"}
    assert data.spk2gender == {"s": "f", "t": "m"}
    assert data.reco2num_spk is None
    assert data.durations is None
    assert data.segments is data.segments


def test_a_broken_table_does_not_keep_others_from_being_read(folder):
    (folder / "segments").write_text("broken\n")
    data = DataDir(folder)
    assert data.utt2spk["r-1"] == "s"
    with pytest.raises(
        DataFormatError, match="segments:1: a segments line has 4 fields"
    ):
        _ = data.segments


def test_spk2utt_follows_from_utt2spk_or_is_read(folder):
    assert DataDir(folder).spk2utt == {"s": ("r-1",), "t": ("r-2",)}
    (folder / "spk2utt").write_text("u r-1 r-2\n")
    assert DataDir(folder).spk2utt == {"u": ("r-1", "r-2")}


def test_without_segments_a_recording_is_one(folder):
    (folder / "segments").unlink()
    with pytest.raises(
        MissingFileError, match="segments: no such file, and no reco2dur"
    ):
        _ = DataDir(folder).segments
    (folder / "reco2dur").write_text("r 12.5\n")
    assert DataDir(folder).segments == {"r": Segment("r", 0.0, 12.5)}


def test_segments_to_the_end_use_reco2dur(folder):
    (folder / "segments").write_text("r-1 r 1 -1\n")
    (folder / "reco2dur").write_text("r 12.5\n")
    assert DataDir(folder).segments == {"r-1": Segment("r", 1.0, 12.5)}


def test_relative_audio_is_looked_for_at_work_and_then_in_the_directory(
    folder, tmp_path, monkeypatch
):
    work = tmp_path / "work"
    (work / "flac").mkdir(parents=True)
    monkeypatch.chdir(work)
    assert DataDir(folder).wav_path("r") == folder / "flac" / "r.flac"
    (work / "flac" / "r.flac").write_bytes(b"")
    assert DataDir(folder).wav_path("r").resolve() == work / "flac" / "r.flac"


def test_audio_that_is_no_file_is_refused(folder):
    data = DataDir(folder)
    table = folder / "wav.scp"
    with pytest.raises(DataFormatError, match="'c' is a command") as caught:
        data.wav_path("c")
    assert (caught.value.path, caught.value.text) == (table, "c cat x |")
    with pytest.raises(DataFormatError, match="'a' is an offset in an archive"):
        data.wav_path("a")
    with pytest.raises(MissingFileError, match=r"no audio file 'none.wav' for 'n'"):
        data.wav_path("n")
    with pytest.raises(InvalidParameterError, match="recording must be listed in"):
        data.wav_path("x")


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(MissingFileError, match="none: no such data directory"):
        DataDir(tmp_path / "none")


@pytest.mark.corpus
def test_real_directories_hold_together(corpus_data):
    data = DataDir(corpus_data / "audiomnist8k")
    assert len(data.segments) == len(data.utt2spk) == 2013
    assert len(data.spk2utt) == len(data.spk2gender) == 60
    assert all(data.wav_path(recording).is_file() for recording in data.audio)
