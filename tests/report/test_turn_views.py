"""What notebooks and other packages see of results with turns."""

import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import sms_diar
from sms_diar.clustering import StochasticMeanShift
from sms_diar.errors import MissingExtraError
from sms_diar.pipeline.cluster.sessions import SessionSummary
from sms_diar.pipeline.diarize.result import Diarization, DiarizedRecording
from sms_diar.pipeline.page.details import window_details
from sms_diar.report.turn_views import timeline_svg
from sms_diar.types import Segment, Turn

HOSTILE = '<img src=x onerror="1">&$x^2$'


def turn(start, end, speaker, recording="call"):
    return Turn(Segment(recording, start, end), speaker)


@pytest.fixture
def recording():
    turns = (turn(0.0, 2.0, "a"), turn(1.0, 2.0, HOSTILE), turn(2.0, 4.0, "b"))
    windows = [Segment("call", 0.0, 1.0), Segment("call", 2.0, 4.0)]
    details = window_details(windows, np.eye(2), np.array([0, 1]), np.array([0.9, 0.6]))
    session = SessionSummary("call", 2, 3, None, 1, converged=True)
    return DiarizedRecording(4.0, 4.0, session, turns, details=details)


@pytest.fixture
def found(recording):
    session = SessionSummary("other", 2, 1, None, 1, converged=True)
    other = DiarizedRecording(1.0, 1.0, session, (turn(0.0, 1.0, "c", "other"),))
    return Diarization("sms", (recording, other))


def test_a_timeline_is_well_formed_and_every_name_is_text(recording):
    html = recording._repr_html_()
    root = ElementTree.fromstring(html)
    space = "{http://www.w3.org/2000/svg}"
    assert {one.tag for one in root.iter()} == {
        f"{space}{tag}" for tag in ("svg", "title", "text", "rect")
    }
    said = [one.findtext(f"{space}title") for one in root.iter(f"{space}rect")]
    assert f"{HOSTILE}, 1.00 to 2.00 s" in said
    assert "a, 0.00 to 2.00 s, confidence 90%" in said
    assert html.count("stroke-dasharray") == 1  # the turn of b is doubtful


def test_long_recordings_are_drawn_in_part():
    many = [turn(i, i + 0.5, "a") for i in range(5000)]
    html = timeline_svg("r", many)
    assert html.count("<rect") == 4000 + 1
    assert html.endswith("<p>The first 4000 of 5000 turns.</p>")


def test_turns_as_a_table(found):
    table = found.to_dataframe()
    assert list(table.columns) == [
        "recording", "start", "end", "duration", "speaker", "confidence",
    ]  # fmt: skip
    assert table["speaker"].tolist() == [
        "call-a", f"call-{HOSTILE}", "call-b", "other-c",
    ]  # fmt: skip
    assert table["duration"].tolist() == [2.0, 1.0, 2.0, 1.0]
    assert table["confidence"].isna().tolist() == [False, True, False, True]
    assert table["confidence"][2] == 0.6


def test_turns_as_annotations_of_pyannote(found, recording):
    pytest.importorskip("pyannote.core")
    annotations = found.to_pyannote()
    assert list(annotations) == ["call", "other"]
    annotation = recording.to_pyannote()
    assert annotation.uri == "call"
    assert annotation.label_duration("a") == 2.0
    heard = [(s.start, s.end, name) for s, _, name in annotation.itertracks(True)]
    assert heard == [(0.0, 2.0, "a"), (1.0, 2.0, HOSTILE), (2.0, 4.0, "b")]


def test_missing_packages_are_named_with_their_extras(recording, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyannote.core", None)
    with pytest.raises(MissingExtraError, match=re.escape("sms-diar[pyannote]")):
        recording.to_pyannote()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=re.escape("sms-diar[plot]")):
        recording.plot()


def test_plots_have_a_lane_for_each_speaker(found, recording):
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    axes = recording.plot()
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["a", HOSTILE.replace("$", r"\$"), "b"]
    axes.figure.canvas.draw()  # as text, not as mathematics
    assert recording.plot(axes) is axes
    assert [one.get_title(loc="left") for one in found.plot()] == ["call", "other"]
    pyplot.close("all")


def test_clusterings_show_timelines_where_times_are_known():
    X = np.repeat(np.eye(3), 20, axis=0)
    X = X + 0.05 * np.random.default_rng(0).standard_normal(X.shape)
    without = sms_diar.cluster(X, num_speakers=3)
    assert without._repr_html_().startswith("<pre>session")
    times = [Segment("call", float(i), i + 1.0) for i in range(60)]
    known = sms_diar.cluster(X, segments=times, num_speakers=3)
    assert known._repr_html_().startswith("<svg")
    assert known.to_dataframe()["duration"].tolist() == [20.0, 20.0, 20.0]


def test_scores_show_their_report_as_text():
    report = sms_diar.score([turn(0.0, 1.0, "<b>")], [turn(0.0, 1.0, "x")])
    html = report._repr_html_()
    assert html.startswith("<pre>")
    assert "<b>" not in html


def test_estimators_show_what_they_found(three_gaussians):
    X, _ = three_gaussians
    model = StochasticMeanShift(bandwidth=1.0, random_state=0)
    assert "Found" not in model._repr_html_()
    shown = model.fit(X)._repr_html_()
    assert shown.startswith("<p>Found 3 clusters of 120 rows; sizes 40, 40, 40.</p>")
    assert "StochasticMeanShift" in shown
