"""Recordings that are clustered together: who appears in several."""

import sys

import numpy as np
import pytest

import sms_diar
from benchmarks.scale import draw_crowd
from sms_diar import _scheduler
from sms_diar.clustering.speakers.evidence import SpeakerEvidenceMeanShift
from sms_diar.datasets import voice_backend_path
from sms_diar.errors import InvalidParameterError, MissingExtraError
from sms_diar.pipeline.cluster import across
from sms_diar.pipeline.cluster import api as cluster
from sms_diar.pipeline.cluster.result import appearance_lines, appearances
from sms_diar.pipeline.train.models import read_backend
from sms_diar.types import EmbeddingSet, Segment


@pytest.fixture(scope="module")
def backend():
    return read_backend(voice_backend_path())


@pytest.fixture(scope="module")
def crowd(backend):
    return draw_crowd(backend, 400, fewest=20, most=100, random_state=1)


@pytest.fixture(scope="module")
def embeddings(crowd):
    """Segments of four recordings, in turn, named as Kaldi names windows."""
    ids = [f"rec{row % 4}-{100 * row:08d}-{100 * row + 90:08d}" for row in range(400)]
    return EmbeddingSet(tuple(ids), crowd.X.astype(np.float64))


@pytest.fixture(scope="module")
def recordings(embeddings):
    return {name: name[:4] for name in embeddings.ids}


@pytest.fixture
def many(monkeypatch):
    """Few vectors are many."""
    monkeypatch.setattr(cluster, "MANY", 50)


class Listener:
    def __init__(self):
        self.said = []
        self.stages = []

    def say(self, message):
        self.said.append(message)

    def track(self, label, total, done=0):
        from contextlib import contextmanager

        @contextmanager
        def shown():
            ticks = []
            self.stages.append((label, total, ticks))
            yield lambda: ticks.append(1)

        return shown()


def test_very_many_vectors_are_told_apart_by_their_neighbours(
    many, embeddings, crowd, backend
):
    found = sms_diar.cluster(embeddings, plda=backend, per_recording=False)
    names = np.array(list(found.labels.values()))
    assert len(set(names)) == len(set(crowd.speakers))
    assert len(set(zip(names, crowd.speakers, strict=True))) == len(set(names))
    assert found.sessions[0].k == 10
    assert found.method == "sms"


def test_up_to_ten_thousand_vectors_labels_are_those_of_the_estimator(
    embeddings, backend
):
    assert across.MANY == 10_000
    embeddings = embeddings.select(np.arange(60))
    found = sms_diar.cluster(embeddings, plda=backend, per_recording=False)
    model = SpeakerEvidenceMeanShift(backend=backend, random_state=0)
    segments = [
        Segment(name[:4], float(row), row + 0.9)
        for row, name in enumerate(embeddings.ids)
    ]
    model.fit(embeddings.vectors, segments=segments)
    assert [int(name[-2:]) - 1 for name in found.labels.values()] == list(model.labels_)


def test_very_many_vectors_are_not_sent_to_a_cluster(many, embeddings, backend):
    class Cluster:
        def map(self, *_, **__):
            raise AssertionError("sent")

    token = _scheduler._current.set(Cluster())
    try:
        with pytest.raises(AssertionError, match="sent"):
            sms_diar.cluster(embeddings, plda=backend)
        found = sms_diar.cluster(embeddings, plda=backend, per_recording=False)
        assert isinstance(_scheduler.current(), Cluster)
    finally:
        _scheduler._current.reset(token)
    assert found.sessions[0].k == 10


def test_recordings_on_their_own_are_never_very_many(many, embeddings, backend):
    found = sms_diar.cluster(embeddings.select(np.arange(60)), plda=backend)
    assert found.sessions[0].count_posterior is not None
    assert found.recordings is None


def test_memory_is_said_before_and_every_stage_has_its_bar(many, embeddings, backend):
    listener = Listener()
    sms_diar.cluster(embeddings, plda=backend, per_recording=False, progress=listener)
    assert listener.said == [
        "400 segments of 192 dimensions across recordings (plda): about 0.2 GiB of "
        "memory"
    ]
    assert [label for label, _, _ in listener.stages] == [
        "neighbours (1 of 6)",
        "learning, round 1 (2 of 6)",
        "learning, round 2 (3 of 6)",
        "learning, round 3 (4 of 6)",
        "neighbours, once more (5 of 6)",
        "speakers (6 of 6)",
    ]
    assert all(len(ticks) <= total for _, total, ticks in listener.stages)


def test_windows_that_overlap_are_warned_of(many, embeddings, backend):
    listener = Listener()
    # Two seconds every second: 401 of 800 seconds are new.
    segments = [Segment("a", float(row), row + 2.0) for row in range(400)]
    sms_diar.cluster(
        embeddings, segments=segments, plda=backend, per_recording=False,
        progress=listener,
    )  # fmt: skip
    assert listener.said[1].startswith(
        "windows overlap, only 50% of each is new speech:"
    )


def test_a_number_of_speakers_is_honoured(many, embeddings, backend):
    found = sms_diar.cluster(
        embeddings, plda=backend, per_recording=False, num_speakers=3
    )
    assert len(set(found.labels.values())) == 3


def test_what_may_not_fit_is_refused_before_the_work(many, embeddings, backend):
    listener = Listener()
    with pytest.raises(InvalidParameterError, match="max_memory must be at least"):
        sms_diar.cluster(
            embeddings,
            plda=backend,
            per_recording=False,
            max_memory=400 * 2**20,
            progress=listener,
        )
    assert not listener.said


def test_the_missing_index_is_noticed_before_the_work(
    many, embeddings, backend, monkeypatch
):
    monkeypatch.setattr(across, "EXACT", 200)
    monkeypatch.setitem(sys.modules, "faiss", None)
    listener = Listener()
    with pytest.raises(MissingExtraError, match=r"pip install 'sms-diar\[index\]'"):
        sms_diar.cluster(
            embeddings, plda=backend, per_recording=False, progress=listener
        )
    assert listener.stages == []


def test_who_appears_in_several_recordings_is_said(
    many, embeddings, recordings, backend
):
    found = sms_diar.cluster(
        embeddings, plda=backend, per_recording=False, recordings=recordings
    )
    n_speakers = found.sessions[0].n_speakers
    line = f"{n_speakers} of {n_speakers} speakers appear in several of 4 recordings"
    assert line in str(found)
    where = found.to_dict()["appearances"]
    assert sum(sum(count.values()) for count in where.values()) == 400
    assert set(where["spk-01"]) == {"rec0", "rec1", "rec2", "rec3"}


def test_given_recordings_come_first(embeddings, backend):
    given = dict.fromkeys(embeddings.ids, "only")
    assert set(across.recordings_of(embeddings, None, given).values()) == {"only"}
    with pytest.raises(
        InvalidParameterError, match=r"got none for 399 of 400 \(first 'rec1-"
    ):
        across.recordings_of(embeddings, None, {embeddings.ids[0]: "a"})


def test_recordings_are_not_read_from_ids(embeddings):
    # Before the times, VBx and Kaldi write the name of a speech region.
    assert across.recordings_of(embeddings, None) is None
    vectors = EmbeddingSet(("a", "b"), np.eye(2))
    segments = {"a": Segment("r", 0.0, 1.0), "b": Segment("s", 0.0, 1.0)}
    assert across.recordings_of(vectors, segments) == {"a": "r", "b": "s"}


def test_a_summary_names_ten_speakers_at_most():
    labels = {f"{s}-{r}": f"spk-{s:02d}" for s in range(12) for r in range(2)}
    recordings = {name: name[-1] for name in labels}
    lines = appearance_lines(appearances(labels, recordings))
    assert lines[0] == "12 of 12 speakers appear in several of 2 recordings"
    assert lines[1] == "  spk-00: 2 recordings, 2 segments"
    assert lines[-1] == "  ... and 2 more"
    assert len(lines) == 12
