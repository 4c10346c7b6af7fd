"""Audio files that were cut, and files whose header does not know their size."""

import struct
import subprocess

import numpy as np
import pytest
import soundfile

from sms_diar.errors import DataFormatError
from sms_diar.io.audio.files import AudioFile, ffmpeg
from sms_diar.limits import MOST_CHUNKS

RATE = 16000
SIGNAL = np.random.default_rng(3).uniform(-0.5, 0.5, 2 * RATE)
BY_LIBSNDFILE = {
    "a.aiff": {},
    "a.au": {},
    "little.au": {"endian": "LITTLE"},
    "big.wav": {"endian": "BIG"},
    "a.caf": {},
    "a.rf64": {"format": "RF64"},
    "a.w64": {},
    "a.ogg": {},
    "a.opus": {"format": "OGG", "subtype": "OPUS"},
    "a.wav": {},
}
BY_FFMPEG = {
    "a.flv": ["-ar", "22050"],
    "a.avi": [],
    "a.spx": [],
    "bw.wav": ["-rf64", "always"],
}

needs_ffmpeg = pytest.mark.skipif(
    not ffmpeg.is_installed(), reason="ffmpeg is not installed"
)


def read(path):
    with AudioFile(path) as audio:
        return audio.read(0, audio.n_samples)


def cut(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    return path


def by_ffmpeg(folder, name, options=(), *, piped=False):
    """Convert the signal; a pipe is where ffmpeg cannot go back to the header."""
    source, path = folder / "source.wav", folder / name
    soundfile.write(source, SIGNAL, RATE)
    words = ["ffmpeg", "-nostdin", "-loglevel", "error", "-i", source, *options]
    if piped:
        made = subprocess.run([*words, "-"], check=True, stdout=subprocess.PIPE)
        path.write_bytes(made.stdout)
    else:
        subprocess.run([*words, path], check=True)
    return path


@pytest.mark.parametrize("share", [0.3, 0.999])
@pytest.mark.parametrize("name", BY_LIBSNDFILE)
def test_a_file_that_was_cut_is_refused(tmp_path, caplog, name, share):
    path = tmp_path / name
    soundfile.write(path, SIGNAL, RATE, **BY_LIBSNDFILE[name])
    assert len(read(path)) == pytest.approx(len(SIGNAL), rel=0.01)
    assert caplog.messages == []
    with pytest.raises(DataFormatError, match=r"it is truncated, copy it again$"):
        read(cut(path, share))


@needs_ffmpeg
@pytest.mark.parametrize("name", BY_FFMPEG)
def test_a_file_of_ffmpeg_is_read_and_refused_once_it_was_cut(tmp_path, caplog, name):
    path = by_ffmpeg(tmp_path, name, BY_FFMPEG[name])
    with AudioFile(path) as audio:
        assert audio.duration == pytest.approx(2.0, abs=0.2)
    assert caplog.messages == []
    with pytest.raises(DataFormatError, match=r"it is truncated, copy it again$"):
        read(cut(path, 0.3))


@needs_ffmpeg
@pytest.mark.parametrize("name", ["a.mkv", "a.wma", "a.aac"])
def test_other_files_that_were_cut_are_read_with_a_warning(tmp_path, caplog, name):
    path = by_ffmpeg(tmp_path, name)
    read(path)
    assert caplog.messages == []
    with AudioFile(cut(path, 0.7)) as audio:
        assert audio.duration < 1.8
    (message,) = caplog.messages
    assert message.startswith(f"{path}: is truncated or damaged; the rest is read (ff")


@needs_ffmpeg
@pytest.mark.parametrize("kind", ["aiff", "au", "caf", "w64", "wav", "ogg", "avi"])
def test_what_was_written_to_a_pipe_is_read_without_a_warning(tmp_path, caplog, kind):
    path = by_ffmpeg(tmp_path, f"a.{kind}", ["-f", kind], piped=True)
    with AudioFile(path) as audio:
        assert audio.duration == pytest.approx(2.0, abs=0.2)
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("name", "before", "size"),
    [
        ("a.au", b".snd\0\0\0\x18", b"\xff\xff\xff\xff"),
        ("a.aiff", b"SSND", b"\x7f\x00\x00\x00"),
        pytest.param("a.caf", b"data", b"\xff" * 8, marks=needs_ffmpeg),
        ("a.wav", b"data", b"\xff\xff\xff\xff"),
        ("a.wav", b"data", b"\xff\xff\xff\x7f"),
        ("a.wav", b"data", b"\x00\xf0\xff\x7f"),
    ],
)
def test_sizes_that_stand_for_unknown_are_not_a_cut(tmp_path, name, before, size):
    path = tmp_path / name
    soundfile.write(path, SIGNAL, RATE)
    content = bytearray(path.read_bytes())
    at = content.index(before) + len(before)
    content[at : at + len(size)] = size
    path.write_bytes(content)
    assert len(read(path)) == len(SIGNAL)


def test_an_ogg_stream_without_a_last_page_is_read_with_a_warning(tmp_path, caplog):
    path = tmp_path / "a.ogg"
    soundfile.write(path, SIGNAL, RATE)
    content = path.read_bytes()
    path.write_bytes(content[: content.rindex(b"OggS")])
    assert len(read(path)) > 0
    assert caplog.messages == [
        f"{path}: no page is marked as the last one of the Ogg stream; if more was "
        f"recorded, the file is truncated"
    ]


def test_the_message_says_how_much_is_there(refused, tmp_path):
    soundfile.write(tmp_path / "a.au", SIGNAL, RATE)
    data = (tmp_path / "a.au").read_bytes()[:1024]
    refused(AudioFile, data, "promises 64000 bytes of samples, but the file ends after")


def test_a_riff_file_that_holds_no_sound_is_not_called_a_wav(tmp_path):
    path = tmp_path / "a.wav"
    path.write_bytes(b"RIFF\x04\0\0\0WEBPVP8 ")
    with pytest.raises(DataFormatError) as caught:
        AudioFile(path)
    assert "cannot be read as audio" in str(caught.value)
    assert "WAV header" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"riff" + bytes(36) + b"x" * 16 + struct.pack("<Q", 3) + bytes(64),
        b"caff" + bytes(4) + b"desc" + struct.pack(">q", -5) + bytes(64),
        b"caff" + bytes(4) + b"desc" + struct.pack(">q", 2**63 - 1) + bytes(64),
        b"FORM\0\0\0\0AIFF" + b"JUNK\0\0\0\0" * (MOST_CHUNKS + 1),
        b"RF64\xff\xff\xff\xffWAVEds64\x10\0\0\0\0",
        b"OggS",
        b"FLV\x01\x05\xff\xff\xff\xff" + bytes(20),
        b"FLV\x01\x05\0\0\0\x09\0\0\0\0\x08",
        b".snd",
        b"RIFF",
        b"RIFF\0\0\0\0WAVE",
        b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0",
    ],
)
def test_headers_that_make_no_sense_are_refused(tmp_path, content):
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(DataFormatError):
        AudioFile(path)
