"""What libsndfile reads by itself, and what ffmpeg decodes for it."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
import soundfile

from sms_diar.errors import DataFormatError
from sms_diar.io.audio.files import AudioFile, ffmpeg

RATE = 16000
SIGNAL = 0.4 * np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE)

needs_ffmpeg = pytest.mark.skipif(
    not ffmpeg.is_installed(), reason="ffmpeg is not installed"
)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.mp3", {}),
        ("a.opus", {"format": "OGG", "subtype": "OPUS"}),
        ("a.ogg", {}),
        ("a.aiff", {}),
        ("a.w64", {}),
    ],
)
def test_these_need_no_ffmpeg(tmp_path, monkeypatch, name, options):
    monkeypatch.setattr(ffmpeg, "is_installed", lambda: False)
    soundfile.write(tmp_path / name, SIGNAL, RATE, **options)
    with AudioFile(tmp_path / name) as audio:
        got = audio.read(0, audio.n_samples)
    middle = np.abs(np.fft.rfft(got[4000:12000]))
    assert np.argmax(middle) * audio.rate / 8000 == pytest.approx(440, abs=2)


def converted(folder, name, channels=1):
    source = folder / "source.wav"
    samples = SIGNAL if channels == 1 else np.stack([SIGNAL, -SIGNAL / 2], axis=1)
    soundfile.write(source, samples, RATE)
    words = ["ffmpeg", "-nostdin", "-loglevel", "error", "-i", source, folder / name]
    subprocess.run(words, check=True)
    return folder / name


@needs_ffmpeg
@pytest.mark.parametrize(
    "name", ["a.m4a", "a.mp4", "a.webm", "a.mkv", "a.wma", "-a.m4a"]
)
def test_others_are_decoded_and_leave_nothing_behind(tmp_path, monkeypatch, name):
    path = converted(tmp_path, f"./{name}")
    (scratch := tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    with AudioFile(path) as audio:
        assert audio.path == path
        assert audio.duration == pytest.approx(1.0, abs=0.1)
        got = audio.read(4000, 12000)
        assert len(list(scratch.iterdir())) == 1
    assert list(scratch.iterdir()) == []
    assert np.argmax(np.abs(np.fft.rfft(got))) * audio.rate / 8000 == pytest.approx(
        440, abs=2
    )


@needs_ffmpeg
def test_channels_are_decoded_once(tmp_path, monkeypatch):
    calls = []
    decode = ffmpeg.decode_to_wav
    path = converted(tmp_path, "a.m4a", channels=2)
    monkeypatch.setattr(
        ffmpeg, "decode_to_wav", lambda *given: (calls.append(given), decode(*given))
    )
    with AudioFile(path, channel=1) as first, first.other(2) as second:
        assert first.n_channels == 2
        one, two = first.read(4000, 8000), second.read(4000, 8000)
    assert len(calls) == 1
    assert np.abs(two + one / 2).max() < 0.05


@needs_ffmpeg
def test_what_is_no_audio_is_refused_with_the_words_of_ffmpeg(tmp_path):
    path = tmp_path / "a.m4a"
    path.write_text("hello, this is no audio at all")
    with pytest.raises(DataFormatError) as caught:
        AudioFile(path)
    assert "and ffmpeg cannot decode it (ffmpeg: Invalid data" in str(caught.value)


@needs_ffmpeg
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "list.m3u8",
            "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n{}\n#EXT-X-ENDLIST\n",
        ),
        ("list.ffconcat", "ffconcat version 1.0\nfile '{}'\n"),
    ],
)
def test_lists_of_other_files_are_refused(tmp_path, name, text):
    other = converted(tmp_path, "secret.m4a")
    path = tmp_path / name
    path.write_text(text.format(other.name))
    with pytest.raises(DataFormatError, match="cannot be read as audio"):
        AudioFile(path)


def test_without_ffmpeg_the_command_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(ffmpeg, "is_installed", lambda: False)
    path = tmp_path / "my call.m4a"
    path.write_bytes(b"\0\0\0\x18ftypM4A \0\0\0\0M4A mp42isom")
    with pytest.raises(DataFormatError) as caught:
        AudioFile(path)
    assert str(caught.value).endswith(
        f"install it, or convert the file elsewhere: ffmpeg -i '{path}' -vn "
        f"'{tmp_path / 'my call-decoded.wav'}'"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="a script stands for ffmpeg")
def test_ffmpeg_gets_a_list_of_arguments_and_no_network(
    tmp_path, monkeypatch, write_program
):
    """A stand-in writes down its arguments and what standard input holds."""
    script = write_program(
        tmp_path / "ffmpeg",
        "import json, pathlib, sys\n"
        f"pathlib.Path({str(tmp_path / 'said')!r}).write_text("
        "json.dumps([sys.stdin.read(), *sys.argv[1:]]))\nsys.exit('no\\nlast words')\n",
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("ffmpeg") == str(script)
    hostile = tmp_path / "$(touch pwned); http:"
    with pytest.raises(ValueError, match=r"^ffmpeg: last words$"):
        ffmpeg.decode_to_wav(hostile, tmp_path / "out.wav")
    import json

    held, *words = json.loads((tmp_path / "said").read_text())
    assert held == ""
    assert "-nostdin" in words
    assert words[words.index("-protocol_whitelist") + 1] == "file"
    assert words[words.index("-i") + 1] == f"file:{hostile}"
    assert not {"hls", "concat", "dash"} & set(
        words[words.index("-format_whitelist") + 1].split(",")
    )
    assert not list(tmp_path.glob("pwned*"))
