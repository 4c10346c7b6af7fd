"""From an MP3 to a readable transcript, with the weights of Whisper tiny.en."""

import re
from importlib.util import find_spec

import numpy as np
import pytest
import soundfile

from sms_diar.networks.store import models_folder

pytestmark = pytest.mark.corpus

RATE = 8000
SPEAKERS = ("am04", "am12", "am04", "am12")  # a man and a woman, in turn
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight")
DIGITS += ("nine",)
PARAGRAPH = re.compile(r"\*\*(\S+)\*\*\s*\([\d:.]+\):\s*(.+)")  # speaker and text


@pytest.fixture(scope="module")
def model():
    folder = models_folder() / "whisper-tiny.en"
    if find_spec("faster_whisper") is None or not folder.is_dir():
        pytest.skip(f"no faster-whisper, or no model at {folder}: scripts/fetch-asr")
    return folder


@pytest.fixture(scope="module")
def conversation(corpus_data, tmp_path_factory):
    """MP3 of two speakers who say digits, and the digits of each of four turns.

    `utt2src` of AudioMNIST lists the clips of each segment, such as 7_04_31 for the
    digit 7.
    """
    data = corpus_data / "audiomnist8k"
    rows = [line.split() for line in (data / "segments").read_text().splitlines()]
    clips = [line.split() for line in (data / "utt2src").read_text().splitlines()]
    spoken = {name: [clip[0] for clip in parts] for name, *parts in clips}
    silence = np.zeros(round(0.4 * RATE))
    samples, turns, used = [silence], [], set()
    for speaker in SPEAKERS:
        digits = []
        for name, recording, start, end in rows:
            if name.startswith(speaker) and name not in used and len(digits) < 8:
                used.add(name)
                first, last = (round(float(time) * RATE) for time in (start, end))
                path = data / "flac" / f"{recording}.flac"
                part, _ = soundfile.read(path, start=first, stop=last)
                samples += [part * 0.05 / np.std(part), silence]
                digits += spoken[name]
        turns.append(digits)
    path = tmp_path_factory.mktemp("mp3") / "digits.mp3"
    soundfile.write(path, np.concatenate(samples), RATE, format="MP3")
    return path, turns


def digits_in(text):
    """Return the digits of a text, written as figures or as words."""
    figures = re.findall(rf"\d|{'|'.join(DIGITS)}", text.lower())
    return [str(DIGITS.index(f)) if f in DIGITS else f for f in figures]


def errors(reference, hypothesis):
    """Return the edit distance of two sequences."""
    row = list(range(len(hypothesis) + 1))
    for i, wanted in enumerate(reference, start=1):
        above, row[0] = row[0], i
        for j, seen in enumerate(hypothesis, start=1):
            cost = above + (wanted != seen)
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, cost)
    return row[-1]


def test_an_mp3_becomes_a_transcript_of_who_said_what(
    model, conversation, run_cli, tmp_path
):
    recording, turns = conversation
    out = tmp_path / "digits.md"
    options = ["--model", "embedded", "--num-speakers", "2", "--language", "en"]
    result = run_cli("diarize", recording, "--transcribe", model, *options, "-o", out)
    assert result.returncode == 0, result.stderr
    said = PARAGRAPH.findall(out.read_text())
    spoken = dict.fromkeys(name for name, _ in said)
    assert len(spoken) == 2
    # The first speaker has the first and the third turn.
    for number, speaker in enumerate(spoken):
        expected = [digit for digits in turns[number::2] for digit in digits]
        text = " ".join(text for name, text in said if name == speaker)
        assert errors(expected, digits_in(text)) <= len(expected) / 3
