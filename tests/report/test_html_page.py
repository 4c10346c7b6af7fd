"""The text of the report page: policy, escaping, size."""

import base64
import hashlib
import json
import re

import numpy as np
import pytest

from sms_diar.report.html_page import (
    Page,
    PageAudio,
    PageError,
    PageRecording,
    PageScore,
    Waveform,
    WindowMap,
    policy,
    render,
    script_json,
)
from sms_diar.timeline.transcript import Phrase, Word
from sms_diar.types import Segment, Turn


def turn(start, end, speaker):
    return Turn(Segment("r", start, end), speaker)


def page_of(*recordings, title="t", settings=None):
    return Page(title, recordings, settings or {}, {"sms-diar": "0"})


def data_of(text):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    return json.loads(found[1])


def test_the_policy_names_the_digests_of_what_is_in_the_page():
    text = render(page_of(PageRecording("r", 2.0, (turn(0, 1, "a"),))))
    [found] = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert found.startswith("default-src 'none'; ")
    for tag, name in (("style", "style-src"), ("script", "script-src")):
        [inner] = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in found
    assert "media-src blob:;" in found
    assert "unsafe" not in found


def test_only_pages_with_audio_beside_them_may_read_files():
    assert "file:" not in policy("", "")
    assert "media-src blob: 'self' file:;" in policy("", "", beside=True)


def test_texts_cannot_leave_the_element_they_stand_in():
    hostile = "</script><!--\u2028&\ud800"
    text = script_json({"a": hostile})
    assert not re.search("[<>&\u2028]", text)
    assert json.loads(text)["a"] == hostile.replace("\ud800", "?")


def test_slots_in_names_are_not_filled():
    recording = PageRecording("{{script}}", 2.0, (turn(0, 1, "{{style}}"),))
    text = render(page_of(recording, title="{{data}}<b>"))
    assert "<title>{{data}}&lt;b&gt;</title>" in text
    [read] = data_of(text)["recordings"]
    assert (read["name"], read["speakers"]) == ("{{script}}", ["{{style}}"])


def test_turns_errors_and_pairs_refer_to_names_by_place():
    score = PageScore(
        (turn(0, 2, "A"), turn(2, 3, "B")),
        {"b": "A"},
        (PageError(0.0, 1.0, "confusion", ("A",), ("a",)),),
        {"der": 0.5},
        ("rule",),
    )
    recording = PageRecording(
        "r", 3.0, (turn(0, 1, "a"), turn(1, 3, "b")), (0.25, None), score=score
    )
    [read] = data_of(render(page_of(recording)))["recordings"]
    assert read["turns"] == [[0, 1, 0, 0.25], [1, 3, 1, None]]
    assert read["score"]["pairs"] == [[1, 0]]
    assert read["score"]["errors"] == [[0.0, 1.0, 2, [0], [0]]]


def test_audio_is_embedded_or_named():
    sound = PageAudio(b"\x00\xffsound")
    recording = PageRecording("r", 1.0, (turn(0, 1, "a"),), audio=sound)
    text = render(page_of(recording))
    [block] = re.findall(r'<script type="text/plain" id="audio-0">(.*?)</script>', text)
    assert base64.b64decode(block) == sound.content
    beside = render(page_of(recording), {0: "r-1.mp3"})
    assert 'id="audio-0"' not in beside
    assert data_of(beside)["recordings"][0]["audio"] == {"href": "r-1.mp3"}


def test_two_hours_and_3000_turns_are_far_below_ten_megabytes():
    rng = np.random.default_rng(0)
    starts = np.sort(rng.uniform(0, 7200, 3000))
    turns = tuple(turn(s, s + 2.123456, f"s{i % 9}") for i, s in enumerate(starts))
    windows = WindowMap(
        tuple(Segment("r", i, i + 1.5) for i in range(2000)),
        rng.standard_normal((2000, 2)),
        rng.uniform(size=2000),
        9000,
        0.5,
    )
    recording = PageRecording(
        "r",
        7202.0,
        turns,
        tuple(rng.uniform(size=3000)),
        waveform=Waveform(rng.integers(0, 256, 40000).astype(np.uint8), 5.5),
        windows=windows,
        score=PageScore(
            turns,
            {},
            tuple(PageError(s, s + 0.1, "missed", ("s1",), ()) for s in starts),
            {"der": 0.1},
            (),
        ),
    )
    assert len(render(page_of(recording)).encode()) < 2_000_000


def test_points_keep_their_shape_on_the_grid():
    points = np.array([[0.0, 0.0], [2.0, 1.0]])
    windows = (Segment("r", 0, 1), Segment("r", 1, 2))
    shown = WindowMap(windows, points, None, 2, 1.0).to_dict()
    # Twice as wide as high, on one scale, centred.
    (x0, y0), (x1, y1) = shown["points"]
    assert (x0, x1) == (0, shown["grid"] - 1)
    assert y1 - y0 == pytest.approx((x1 - x0) / 2, abs=1)


def test_words_are_columns_with_times_in_milliseconds():
    phrases = (
        Phrase("r", 0.5, 2.0, "b", (Word("well,", 0.5, 1.0), Word("yes", 1.0, 1.2346))),
        Phrase("r", 2.0, 3.0, None, (Word("\u4f60", 2.0, 2.5, is_estimated=True),)),
        Phrase(
            "r",
            3.0,
            4.0,
            "c",
            (Word("\u597d", 3, 4, speaker_confidence=0.25, is_joined=True),),
        ),
    )
    recording = PageRecording(
        "r", 4.0, (turn(0, 1, "a"), turn(1, 2, "b")), phrases=phrases
    )
    [read] = data_of(render(page_of(recording)))["recordings"]
    assert read["speakers"] == ["a", "b", "c"]
    assert read["words"] == {
        "phrases": [[500, 2000, 1, 2], [2000, 3000, -1, 1], [3000, 4000, 2, 1]],
        "texts": "well,\nyes\n\u4f60\n\u597d",
        "flags": "80a9",
        "times": [500, 1000, 1000, 1235, 2000, 2500, 3000, 4000],
        "sure": [None, None, None, 0.25],
        "heard": None,
    }


def test_three_hours_of_words_are_far_below_twelve_megabytes():
    words = tuple(
        Word("wordword", 0.36 * i, 0.36 * i + 0.3, 0.987, 0.876) for i in range(30_000)
    )
    phrases = tuple(
        Phrase("r", words[i].start, words[i + 9].end, f"s{i % 7}", words[i : i + 10])
        for i in range(0, 30_000, 10)
    )
    recording = PageRecording("r", 10_800.0, (turn(0, 1, "a"),), phrases=phrases)
    assert len(render(page_of(recording)).encode()) < 2_000_000
