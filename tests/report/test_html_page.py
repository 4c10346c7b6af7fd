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
