"""Recordings that are clustered together: who appears in several."""

import numpy as np
import pytest

import sms_diar
from benchmarks.scale import draw_crowd
from sms_diar import _scheduler
from sms_diar.clustering.speakers import blocks, fragments
from sms_diar.clustering.speakers.evidence import SpeakerEvidenceMeanShift
from sms_diar.clustering.speakers.fragments import SpeakerFragmentMeanShift
from sms_diar.datasets import voice_backend_path
from sms_diar.errors import InvalidParameterError
from sms_diar.pipeline.cluster import across
from sms_diar.pipeline.cluster import api as cluster
from sms_diar.pipeline.cluster.result import appearance_lines, appearances
from sms_diar.pipeline.train.models import read_backend
from sms_diar.timeline.windows import times_of_ids
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
    """Few vectors are many, and blocks are small."""
    monkeypatch.setattr(cluster, "MANY", 50)
    monkeypatch.setattr(blocks, "BLOCK", 200)
    monkeypatch.setattr(fragments, "BLOCK", 200)


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


def test_very_many_vectors_are_told_apart_in_blocks(many, embeddings, crowd, backend):
    found = sms_diar.cluster(embeddings, plda=backend, per_recording=False)
    names = np.array(list(found.labels.values()))
    assert len(set(names)) == len(set(crowd.speakers))
    assert len(set(zip(names, crowd.speakers, strict=True))) == len(set(names))
    assert found.method == "sms"
    # Labels are those of the estimator, with the times in the ids.
    model = SpeakerFragmentMeanShift(backend=backend, random_state=0)
    segments = list(times_of_ids(embeddings.ids).values())
    model.fit(embeddings.vectors, segments=segments)
    assert len(set(zip(names, model.labels_, strict=True))) == model.n_clusters_
    assert found.sessions[0].count_posterior == model.count_posterior_


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
    assert len(found.labels) == 400


def test_recordings_on_their_own_are_never_very_many(many, embeddings, backend):
    found = sms_diar.cluster(embeddings.select(np.arange(60)), plda=backend)
    assert found.sessions[0].count_posterior is not None
    assert found.recordings is None


def test_memory_is_said_before_and_progress_is_shown(many, embeddings, backend):
    listener = Listener()
    sms_diar.cluster(embeddings, plda=backend, per_recording=False, progress=listener)
    # Three copies of 400 x 192 numbers of 4 bytes, 200 bytes per row, and 1 GiB.
    assert listener.said == [
        "400 segments of 192 dimensions, plda scores of 192 dimensions: about 1.0 GiB "
        "of memory"
    ]
    [(label, total, ticks)] = listener.stages
    assert (label, total) == ("clustering", 100)
    assert 5 < len(ticks) <= total


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
