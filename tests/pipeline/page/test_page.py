"""From turns, audio and a reference to a report page."""

import base64
import html
import io
import json
import re

import numpy as np
import pytest
import soundfile

import sms_diar
from sms_diar.errors import InvalidParameterError
from sms_diar.io.transcripts.files import write_transcript
from sms_diar.io.turns.rttm import write_rttm
from sms_diar.pipeline.audio.inputs import GivenRecording
from sms_diar.pipeline.context import RunContext
from sms_diar.pipeline.page.api import listen_to, report_page
from sms_diar.timeline.transcript import Phrase, Transcript, words_of_text
from sms_diar.types import Segment, Turn

RATE = 8000


def turn(start, end, speaker, recording="call"):
    return Turn(Segment(recording, start, end), speaker)


TURNS = [turn(1.0, 3.0, "b"), turn(0.0, 1.0, "a")]


@pytest.fixture
def tone():
    """Four seconds, silent but for a tone from 1 s to 2 s."""
    time = np.arange(4 * RATE) / RATE
    return 0.01 * np.sin(2 * np.pi * 440 * time) * ((time >= 1) & (time < 2)), RATE


def read(html):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html)
    return json.loads(found[1])["recordings"]


def test_turns_are_in_order_of_time_and_end_the_recording():
    [one] = read(report_page(TURNS).html())
    assert one["turns"] == [[0, 1, 0, None], [1, 3, 1, None]]
    assert one["speakers"] == ["a", "b"]
    assert one["duration"] == 3


def framed(page):
    """Attributes of the frame that a notebook shows, and the text behind it."""
    shown = page._repr_html_()
    found = re.fullmatch(r"<iframe (.*?)></iframe>(.*)", shown, re.DOTALL)
    attributes = re.findall(r'([\w-]+)="(.*?)"', found[1], re.DOTALL)
    return {name: html.unescape(value) for name, value in attributes}, found[2]


def test_a_notebook_shows_the_page_in_a_frame_that_cannot_reach_it(tone):
    page = report_page([turn(0.0, 1.0, '"><script>')], audio=tone)
    frame, note = framed(page)
    assert frame["srcdoc"] == page.html()
    assert (frame["title"], note) == ("call", "")
    assert frame["sandbox"] == "allow-scripts allow-downloads"
    assert repr(page) == "<ReportPage 'call'; write(path) saves it as HTML>"


def test_the_reference_gives_errors_pairs_and_figures():
    [one] = read(report_page(TURNS, reference=[turn(0.0, 3.0, "A")]).html())
    # b is A for 2 s; a's second is confusion.
    assert one["score"]["pairs"] == [[1, 0]]
    assert one["score"]["errors"] == [[0, 1, 2, [0], [0]]]
    assert one["score"]["figures"]["der"] == pytest.approx(1 / 3)


def test_a_reference_of_another_name_is_matched_as_by_score():
    truth = [turn(0.0, 3.0, "A", "other")]
    page = report_page(TURNS, reference=truth)
    [one] = read(page.html())
    assert one["score"]["figures"]["der"] == sms_diar.score(truth, TURNS).overall["der"]
    [remark] = page.remarks
    assert "'other', is taken for 'call'" in one["notes"][0]
    assert str(remark) == one["notes"][0]


def test_peaks_and_sound_are_where_they_were(tone):
    seconds, waveform, sound = listen_to(GivenRecording("x", *tone), RunContext())
    assert seconds == 4.0
    loud = np.flatnonzero(waveform.peaks > 128) / waveform.per_second
    assert (loud.min(), loud.max()) == pytest.approx((1.0, 2.0), abs=0.05)
    samples, rate = soundfile.read(io.BytesIO(sound.content))
    heard = np.flatnonzero(np.abs(samples) > 0.2) / rate
    assert (heard.min(), heard.max()) == pytest.approx((1.0, 2.0), abs=0.02)
    assert np.abs(samples).max() == pytest.approx(0.9, abs=0.1)  # brought up


def test_audio_beyond_the_limit_lies_beside_the_page(tone, tmp_path):
    page = report_page(TURNS, audio=tone)
    assert page.write(tmp_path / "in.html") == [tmp_path / "in.html"]
    [one] = read((tmp_path / "in.html").read_text(encoding="utf-8"))
    assert one["audio"] == {"id": "audio-0", "type": "audio/mpeg"}
    small = report_page(TURNS, audio=tone, embed_limit=0.0)
    paths = small.write(tmp_path / "out.html")
    assert paths == [tmp_path / "out.html", tmp_path / "out-1.mp3"]
    text = paths[0].read_text(encoding="utf-8")
    assert read(text)[0]["audio"] == {"href": "out-1.mp3"}
    assert base64.b64encode(paths[1].read_bytes()[:90]).decode() not in text


def test_several_recordings_are_matched_by_name(tone):
    turns = [*TURNS, turn(0.0, 1.0, "a", "other")]
    call, other = read(report_page(turns, audio={"other": tone}).html())
    assert call["wave"] is None
    assert other["wave"] is not None
    with pytest.raises(InvalidParameterError, match="must have a recording of the"):
        report_page(turns, audio={"third": tone})


def test_turns_after_the_end_of_the_audio_are_noticed(tone):
    [one] = read(report_page([turn(0.0, 9.0, "a")], audio=tone).html())
    assert one["notes"] == [
        "The last turn ends at 9.0 s, but the audio has 4.0 s: it may belong to "
        "another recording."
    ]
    assert one["duration"] == 9


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(
        InvalidParameterError, match="turns must contain turns, got none"
    ):
        report_page([])
    with pytest.raises(InvalidParameterError, match=r"\('call'\), got 'x', 'y'"):
        report_page(TURNS, reference=[turn(0, 1, "a", n) for n in "xy"])


def test_a_diarization_brings_confidence_windows_and_settings(one_voice):
    samples = one_voice(1)
    found = sms_diar.diarize((samples, RATE), model="embedded", seed=3)
    html = report_page(found, audio=(samples, RATE)).html()
    [one] = read(html)
    assert one["duration"] == 6
    assert all(0 <= sure <= 1 for *_, sure in one["turns"])
    assert len(one["map"]["points"]) == one["map"]["windows"] > 2
    assert '["seed","3"]' in html
    assert report_page(found, audio=(samples, RATE)).html().count("<script") == 3


def test_the_command_writes_the_page_and_says_so(run_cli, tmp_path, tone):
    write_rttm(tmp_path / "call.rttm", TURNS)
    soundfile.write(tmp_path / "any.wav", tone[0], RATE)
    page = tmp_path / "page.html"
    result = run_cli(
        "report", tmp_path / "call.rttm", "--audio", tmp_path / "any.wav",
        "--ref", tmp_path / "call.rttm", "-o", page, "--title", "A & B",
    )  # fmt: skip
    assert result.returncode == 0
    assert result.stderr.startswith(f"sms-diar: wrote {page} (")
    text = page.read_text(encoding="utf-8")
    assert "<title>A &amp; B</title>" in text
    assert read(text)[0]["score"]["figures"]["der"] == 0


def test_diarize_writes_a_page(run_cli, tmp_path, one_voice, no_networks):
    soundfile.write(tmp_path / "call.wav", one_voice(2), RATE)
    write_rttm(tmp_path / "ref.rttm", [turn(0.5, 5.0, "ann")])
    result = run_cli(
        "diarize", tmp_path / "call.wav", "--html", tmp_path / "p.html",
        "--ref", tmp_path / "ref.rttm",
    )  # fmt: skip
    assert result.returncode == 0
    assert result.stdout.startswith("SPEAKER call 1 ")
    [one] = read((tmp_path / "p.html").read_text(encoding="utf-8"))
    assert one["score"]["speakers"] == ["ann"]
    assert one["map"] is not None


def test_sound_beside_a_page_does_not_replace_a_recording(tmp_path, run_cli):
    audio = tmp_path / "page-1.mp3"
    soundfile.write(audio, np.zeros(16000), 16000)
    before = audio.read_bytes()
    turns = tmp_path / "x.rttm"
    turns.write_text("SPEAKER a 1 0 1 <NA> <NA> ann <NA> <NA>\n", encoding="utf-8")
    result = run_cli(
        *("report", turns, "--audio", audio, "--embed-limit", "0"),
        *("-o", tmp_path / "page.html"),
    )
    assert result.returncode == 1
    assert f"{audio}: is read as an input" in result.stderr
    assert audio.read_bytes() == before


def said(text, start, recording):
    words = words_of_text(text, start, start + 1.0)
    return Phrase(recording, start, start + 1.0, "a", words)


def test_a_transcript_is_matched_by_name_and_sorted_by_time(tmp_path):
    phrases = (said("last", 9.0, "other"), said("not first", 2.0, "other"))
    write_transcript(tmp_path / "words.json", phrases)
    [one] = read(report_page(TURNS, transcript=tmp_path / "words.json").html())
    assert one["words"]["texts"] == "not\nfirst\nlast"  # one recording has any name
    assert one["duration"] == 10
    turns = [*TURNS, turn(0.0, 1.0, "a", "other")]
    call, other = read(report_page(turns, transcript=Transcript(phrases)).html())
    assert call["words"] is None
    assert other["words"]["flags"] == "a2a"
    with pytest.raises(
        InvalidParameterError, match=r"transcript must have a recording"
    ):
        report_page(turns, transcript=Transcript((said("x", 0.0, "third"),)))
