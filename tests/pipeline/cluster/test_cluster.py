"""Embeddings of recordings to speakers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning

import sms_diar
from sms_diar._progress import Silence
from sms_diar.clustering import SpeakerFragmentMeanShift, SpeakerStochasticMeanShift
from sms_diar.clustering.baselines import AgglomerativeSpeakers
from sms_diar.clustering.methods import METHODS
from sms_diar.clustering.rival import find_rival
from sms_diar.errors import InvalidParameterError, SmsDiarError
from sms_diar.io.embeddings.files import write_embeddings
from sms_diar.io.kaldi.tables import write_segments
from sms_diar.io.labels import read_labels
from sms_diar.pipeline.cluster.api import (
    cluster_embeddings,
    match_segments,
    memory_note,
)
from sms_diar.scoring import train_backend
from sms_diar.types import EmbeddingSet, PldaModel, Segment


def two_recordings():
    """Two recordings of two speakers each, one of whom speaks in both."""
    rng = np.random.default_rng(0)
    speakers = 3.0 * rng.standard_normal((3, 8))
    ids, vectors, segments, truth = [], [], {}, []
    for recording, present in (("one", (0, 1)), ("two", (1, 2))):
        for position in range(60):
            speaker = present[position // 15 % 2]
            name = f"{recording}-{position:02d}"
            ids.append(name)
            truth.append(speaker)
            vectors.append(speakers[speaker] + 0.4 * rng.standard_normal(8))
            segments[name] = Segment(recording, float(position), position + 1.0)
    return EmbeddingSet(tuple(ids), np.array(vectors)), segments, np.array(truth)


SMS = SpeakerStochasticMeanShift(k=9, random_state=0)


def test_across_recordings_a_speaker_keeps_one_name():
    embeddings, segments, truth = two_recordings()
    result = cluster_embeddings(embeddings, SMS, segments=segments)
    names = np.array([result.labels[name] for name in embeddings.ids])
    assert len(set(names)) == 3
    for speaker in range(3):
        assert len(set(names[truth == speaker])) == 1
    # The speaker of both recordings talks most and is number one.
    assert names[truth == 1][0] == "spk-01"
    assert [s.session for s in result.sessions] == ["all"]


def test_per_recording_speakers_are_named_within_it():
    embeddings, segments, _ = two_recordings()
    result = cluster_embeddings(embeddings, SMS, segments=segments, per_recording=True)
    assert {s.session: s.n_speakers for s in result.sessions} == {"one": 2, "two": 2}
    names = {f"{session}-spk-0{n}" for session in ("one", "two") for n in (1, 2)}
    assert set(result.labels.values()) == names


def test_a_session_does_not_depend_on_its_company():
    embeddings, segments, _ = two_recordings()
    both = cluster_embeddings(embeddings, SMS, segments=segments, per_recording=True)
    second = embeddings.select(np.arange(60, 120))
    alone = cluster_embeddings(second, SMS, segments=segments, per_recording=True)
    assert all(both.labels[name] == alone.labels[name] for name in second.ids)


def test_turns_merge_neighbouring_windows():
    embeddings, segments, _ = two_recordings()
    result = cluster_embeddings(embeddings, SMS, segments=segments, per_recording=True)
    turns = result.turns()
    assert [
        (t.segment.start, t.segment.end) for t in turns if t.segment.recording == "one"
    ] == [(0, 15), (15, 30), (30, 45), (45, 60)]


def test_without_segments_there_are_no_turns():
    embeddings, _, _ = two_recordings()
    with pytest.raises(InvalidParameterError, match="pass the segments file"):
        cluster_embeddings(embeddings, SMS).turns()
    with pytest.raises(InvalidParameterError, match="per_recording needs segments"):
        cluster_embeddings(embeddings, SMS, per_recording=True)


def test_ids_without_segments_are_counted_and_named():
    embeddings, segments, _ = two_recordings()
    kept = {name: s for name, s in segments.items() if name >= "one-05"}
    with pytest.raises(InvalidParameterError, match=r"none for 5 of 120 ids.*one-00"):
        match_segments(embeddings, kept, "segments")
    extra = {**segments, "two-99": Segment("two", 99.0, 100.0)}
    assert match_segments(embeddings, extra, "segments") == ["two-99"]


def test_a_back_end_of_another_extractor_is_refused():
    embeddings, _, truth = two_recordings()
    backend = train_backend(embeddings.vectors, truth, n_components=2)
    other = EmbeddingSet(embeddings.ids, embeddings.vectors, extractor="abc")
    model = SpeakerStochasticMeanShift(backend=backend.with_extractor("xyz"))
    with pytest.raises(InvalidParameterError, match=r"\(xyz\), got vectors of abc"):
        cluster_embeddings(other, model)


@pytest.mark.parametrize(
    ("estimator", "note"),
    [
        (SMS, "cosine scores, whitening fitted on the session: about 0 MiB of memory"),
        (AgglomerativeSpeakers(), "cosine scores, whitening fitted on the session"),
        (
            SpeakerFragmentMeanShift(),
            "no model: space and noise learnt from the session: about 0 MiB of memory",
        ),
    ],
)
def test_memory_is_estimated_in_words_unless_all_pairs_are_held(estimator, note):
    embeddings, _, _ = two_recordings()
    want = f"120 segments of 8 dimensions, {note}"
    assert memory_note(embeddings, estimator) == want


def test_overlapping_windows_weigh_less_recording_by_recording():
    embeddings, segments, _ = two_recordings()
    # Recording "two" is told twice: windows of two seconds every second.
    told = {
        name: Segment(s.recording, s.start, s.end + (s.recording == "two"))
        for name, s in segments.items()
    }
    model = SpeakerFragmentMeanShift(random_state=0)
    result = cluster_embeddings(embeddings, model, segments=told, per_recording=True)
    one, two = result.sessions
    assert one.row_weight == 1.0
    assert two.row_weight == pytest.approx(61.0 / 120.0)
    assert one.k is None
    assert model.row_weight == "auto"  # the caller's stays as it was
    fixed = SpeakerFragmentMeanShift(row_weight=0.8, random_state=0)
    across = cluster_embeddings(embeddings, fixed, segments=told)
    assert across.sessions[0].row_weight == 0.8


def test_only_what_a_method_has_is_summed_up():
    embeddings, segments, _ = two_recordings()
    [paper] = cluster_embeddings(embeddings, SMS, segments=segments).sessions
    assert paper.k == 9
    assert (paper.row_weight, paper.weight, paper.log_joint) == (None, None, None)
    [linked] = cluster_embeddings(embeddings, AgglomerativeSpeakers()).sessions
    assert linked.k is None
    assert linked.converged


def overlapping_windows(named=True):
    """Windows of 1.5 s every .25 s, with or without times in their ids."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(6) % 2, 60)
    steps = rng.standard_normal((2, 30))[truth] + rng.standard_normal((360, 30))
    X = np.lib.stride_tricks.sliding_window_view(steps, 6, axis=0).mean(axis=-1)
    segments = [Segment("call", 0.25 * i, 0.25 * i + 1.5) for i in range(len(X))]
    names = tuple(
        f"call-{round(100 * s.start):08d}-{round(100 * s.end):08d}"
        if named
        else f"window{row:03d}"
        for row, s in enumerate(segments)
    )
    return EmbeddingSet(names, X), dict(zip(names, segments, strict=True))


def test_times_in_ids_are_as_good_as_segments():
    named, segments = overlapping_windows()
    [told] = cluster_embeddings(
        named, SpeakerFragmentMeanShift(random_state=0), segments=segments
    ).sessions
    found = cluster_embeddings(named, SpeakerFragmentMeanShift(random_state=0))
    [read] = found.sessions
    assert read == told
    assert read.n_speakers == 2
    assert read.row_weight == pytest.approx(1 / 6, rel=0.05)
    # 355 windows every .25 s, and the rest of the last one.
    assert read.seconds == pytest.approx(90.0)
    # They tell what overlaps; what the turns are, only segments can say.
    assert found.segments is None


def test_ids_without_times_leave_seconds_open():
    plain, _ = overlapping_windows(named=False)
    [one] = cluster_embeddings(plain, SpeakerFragmentMeanShift(random_state=0)).sessions
    assert one.seconds is None
    # Rows in order of time show that they overlap.
    assert one.row_weight == pytest.approx(1 / 6)


@pytest.mark.parametrize("trained", [False, True])
def test_every_segment_has_a_confidence_and_every_session_a_posterior(trained):
    embeddings, segments, truth = two_recordings()
    plda = train_backend(embeddings.vectors, truth, n_components=2) if trained else None
    result = sms_diar.cluster(embeddings, segments=segments, plda=plda)
    assert list(result.confidence) == list(embeddings.ids)
    assert all(0.0 <= p <= 1.0 for p in result.confidence.values())
    for one in result.sessions:
        own = [p for name, p in result.confidence.items() if name[:3] == one.session]
        assert one.confidence == pytest.approx(np.mean(own), abs=1e-4)
        assert sum(one.count_posterior.values()) == pytest.approx(1.0)
        assert one.n_speakers in one.count_posterior
        assert one.seconds == pytest.approx(60.0)


def test_a_given_number_of_speakers_is_certain():
    embeddings, segments, _ = two_recordings()
    asked = sms_diar.cluster(embeddings, segments=segments, num_speakers=2)
    assert [one.count_posterior for one in asked.sessions] == [{2: 1.0}, {2: 1.0}]


@pytest.mark.parametrize(
    ("bounds", "given"),
    [
        ({}, False),
        ({"num_speakers": 2}, True),
        ({"min_speakers": 2, "max_speakers": 2}, True),
        ({"max_speakers": 1}, True),
        ({"max_speakers": 2}, False),
        ({"min_speakers": 2}, False),
    ],
)
@pytest.mark.parametrize("method", ["sms", "ahc"])
def test_a_number_that_bounds_leave_no_choice_of_is_given(method, bounds, given):
    embeddings, _, _ = two_recordings()
    few = embeddings.select(np.arange(12))
    [one] = sms_diar.cluster(few, method=method, **bounds).sessions
    assert one.number_given is given


def names_of(clustering):
    return list(clustering.labels.values())


def test_a_file_a_set_and_an_array_give_the_same_labels(tmp_path):
    embeddings, segments, _ = two_recordings()
    write_embeddings(tmp_path / "x.npz", embeddings)
    write_segments(tmp_path / "segments", segments)
    want = sms_diar.cluster(embeddings, segments=segments, method="ahc")
    assert list(want.labels) == list(embeddings.ids)
    assert [one.session for one in want.sessions] == ["one", "two"]
    by_path = sms_diar.cluster(
        str(tmp_path / "x.npz"), segments=tmp_path / "segments", method="ahc"
    )
    assert by_path.labels == want.labels
    in_order = list(segments.values())
    array = sms_diar.cluster(embeddings.vectors, segments=in_order, method="ahc")
    assert list(array.labels) == [f"row-{row:05d}" for row in range(120)]
    assert names_of(array) == names_of(want)
    assert array.turns() == want.turns()
    with (tmp_path / "x.npz").open("rb") as stream:
        streamed = sms_diar.cluster(stream, segments=segments, method="ahc")
    assert streamed.labels == want.labels


def test_options_reach_the_method():
    embeddings, segments, truth = two_recordings()
    given = {"segments": segments, "per_recording": False}
    three = sms_diar.cluster(embeddings, method="sms-paper", k=9, **given)
    want = cluster_embeddings(embeddings, SMS, segments=segments)
    assert three.labels == want.labels
    two = sms_diar.cluster(embeddings, num_speakers=2, **given)
    assert len(set(names_of(two))) == 2
    backend = train_backend(embeddings.vectors, truth, n_components=2)
    scored = sms_diar.cluster(embeddings, plda=backend, method="vbx")
    assert [one.session for one in scored.sessions] == ["all"]


def test_the_result_can_be_written_and_printed(tmp_path):
    embeddings, segments, _ = two_recordings()
    found = sms_diar.cluster(embeddings, segments=segments, method="ahc")
    text = found.to_rttm(tmp_path / "x.rttm")
    assert (tmp_path / "x.rttm").read_text() == text
    assert len(list(sms_diar.read_rttm(tmp_path / "x.rttm"))) == len(found.turns())
    found.to_labels(tmp_path / "labels")
    assert read_labels(tmp_path / "labels") == found.labels
    content = found.to_dict()
    assert list(content) == ["method", "labels", "confidence", "sessions"]
    assert content["method"] == "ahc"
    assert content["confidence"] is None
    assert content["sessions"][0]["doubts"] == []
    assert str(found).splitlines()[0].split() == ["session", "segments", "speakers"]


def test_remarks_about_the_input_go_to_progress():
    class Lines(Silence):
        def __init__(self):
            self.said = []

        def say(self, message):
            self.said.append(message)

    embeddings, segments, _ = two_recordings()
    extra = {**segments, "two-99": Segment("two", 99.0, 100.0)}
    lines = Lines()
    sms_diar.cluster(embeddings, segments=extra, method="ahc", progress=lines)
    assert lines.said == [
        "segments: 1 segments have no embedding; ignored",
        "120 segments of 8 dimensions, cosine scores, whitening fitted on the session",
    ]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"segments": [Segment("a", 0, 1)]}, "segments must be one for each"),
        ({"segments": 5}, "segments must be one for each"),
        ({"segments": [(0, 1), (1, 2)]}, "segments must be of type"),
        ({"per_recording": True}, "per_recording needs segments"),
        ({"k": 3}, "must be left out, got 3"),
    ],
)
def test_wrong_input_of_cluster_is_refused(options, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        sms_diar.cluster(np.zeros((2, 3)), **options)


def test_a_path_in_place_of_vectors_is_refused():
    with pytest.raises(InvalidParameterError, match="embeddings must be an Emb"):
        cluster_embeddings("x.ark", SMS)


@pytest.mark.parametrize(("n_speakers", "n_rows"), [(200, 12), (60, 4)])
def test_a_collapsed_answer_is_never_silent(n_speakers, n_rows):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((n_speakers, 64)), n_rows, axis=0)
    X += 0.4 * rng.standard_normal(X.shape)
    [session] = sms_diar.cluster(X).sessions
    right = abs(session.n_speakers - n_speakers) <= 0.1 * n_speakers
    assert right or "share a label" in " ".join(session.doubts)


def test_a_partition_that_fits_is_not_contradicted():
    rng = np.random.default_rng(1)
    X = np.repeat(rng.standard_normal((6, 24)), 20, axis=0)
    X += 0.3 * rng.standard_normal(X.shape)
    [session] = sms_diar.cluster(X).sessions
    assert (session.n_speakers, session.rival, session.doubts) == (6, None, ())


def test_a_fixed_number_of_speakers_has_no_rival():
    rng = np.random.default_rng(1)
    X = np.repeat(rng.standard_normal((6, 24)), 20, axis=0)
    X += 0.3 * rng.standard_normal(X.shape)
    [session] = sms_diar.cluster(X, num_speakers=2).sessions
    assert (session.n_speakers, session.rival, session.doubts) == (2, None, ())
    [session] = sms_diar.cluster(X, max_speakers=2).sessions
    assert session.rival is None


NOT_NUMBERS = "real numbers of shape (n, d), got "
FEW = np.random.default_rng(0).standard_normal((12, 4))


def with_value(value):
    changed = FEW.copy()
    changed[3, 2] = value
    return changed


ODD = {
    "no rows": (FEW[:0], "must hold at least one vector, got none"),
    "no dimensions": (FEW[:, :0], "must hold at least one dimension, got none"),
    "empty list": ([], NOT_NUMBERS + "list of shape (0,)"),
    "one vector": (FEW[0], NOT_NUMBERS + "ndarray of shape (4,)"),
    "number": (3.0, NOT_NUMBERS + "float of shape ()"),
    "set": ({1.0, 2.0}, NOT_NUMBERS + "set of shape ()"),
    "ragged": ([[1.0, 2.0], [3.0]], NOT_NUMBERS + "list ("),
    "complex": (FEW + 0j, NOT_NUMBERS + "values of type complex128"),
    "text": (FEW.astype(str), NOT_NUMBERS + "values of type <U"),
    "booleans": (FEW > 0.0, NOT_NUMBERS + "values of type bool"),
    "gaps": (np.where(FEW > 1.0, None, FEW), NOT_NUMBERS + "values of type object"),
    "beyond doubles": ([[10**400, 1]], NOT_NUMBERS + "values of type object"),
    "masked": (np.ma.masked_greater(FEW, 1.0), NOT_NUMBERS + "masked values; fill"),
    "sparse": (csr_matrix(FEW), NOT_NUMBERS + "a sparse matrix; pass X.toarray()"),
    "NaN": (with_value(np.nan), "got NaN in the vector of 'row-00003'"),
    "infinity": (with_value(-np.inf), "got infinity in the vector of 'row-00003'"),
    "too few ids": ((["a"], FEW), "one id for each of the 12 vectors, got 1 ids"),
    "equal ids": ((["a"] * 12, FEW), "ids must be unique, got 'a' 12 times"),
    "no ids": ({1: [1.0], 2: [2.0]}, "ids of embeddings must be text, got 1"),
    "scalars by id": ({"a": 1}, NOT_NUMBERS + "list of shape (1,)"),
    "text in a frame": (pd.DataFrame({"id": ["a"], "x": ["b"]}), "not numbers"),
    "empty frame": (pd.DataFrame(), "cluster: DataFrame: only one column"),
    "flat set": (EmbeddingSet(("a",), FEW[:1, :0]), "at least one dimension"),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_values_that_are_not_vectors_are_refused(name):
    value, problem = ODD[name]
    with pytest.raises(SmsDiarError) as caught:
        sms_diar.cluster(value)
    assert problem in str(caught.value)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "rows", [FEW[:1], FEW[:3], np.zeros((5, 4)), np.ones((5, 4)), 1e-310 * FEW]
)
def test_few_and_equal_vectors_are_clustered(rows, method):
    plda = PldaModel(np.zeros(4), np.eye(4), np.ones(4)) if method == "vbx" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = sms_diar.cluster(rows, method=method, plda=plda)
    assert len(result.labels_) == len(rows)
    assert set(result.labels_) == set(range(result.sessions[0].n_speakers))


@pytest.mark.parametrize(
    "rows",
    [FEW.astype(dtype) for dtype in ("f2", "f4", ">f8", "longdouble", "i1", object)]
    + [np.asfortranarray(FEW), np.broadcast_to(FEW[0], (6, 4)), np.ma.array(FEW)],
)
def test_oddly_stored_vectors_are_clustered(rows):
    plain = np.ascontiguousarray(rows, dtype=np.float64)
    assert sms_diar.cluster(rows).labels == sms_diar.cluster(plain).labels


def test_vectors_too_large_for_a_model_are_refused():
    plda = PldaModel(np.zeros(4), np.eye(4), np.ones(4))
    with (
        np.errstate(over="ignore"),
        pytest.raises(InvalidParameterError, match="too large in row 3; scale them"),
    ):
        sms_diar.cluster(with_value(1e300), method="vbx", plda=plda)


def test_ids_come_with_a_mapping_a_pair_or_a_frame_or_are_those_of_a_file(tmp_path):
    names = [f"x{row}" for row in range(12)]
    want = sms_diar.cluster(EmbeddingSet(tuple(names), FEW), method="ahc").labels
    frame = pd.DataFrame(FEW, index=names)
    for value in (
        dict(zip(names, FEW, strict=True)),
        (names, FEW),
        (np.array(names), FEW.tolist()),
        frame,
        frame.reset_index(names="id"),
        pd.DataFrame({"id": names, "embedding": FEW.tolist()}),
    ):
        assert sms_diar.cluster(value, method="ahc").labels == want
    np.save(tmp_path / "x.npy", FEW)
    by_file = sms_diar.cluster(tmp_path / "x.npy", method="ahc").labels
    assert sms_diar.cluster(FEW, method="ahc").labels == by_file
    assert sms_diar.cluster(pd.DataFrame(FEW), method="ahc").labels == by_file


def test_two_vectors_in_a_tuple_are_not_ids_and_vectors():
    result = sms_diar.cluster(([1.0, 2.0], [2.0, 1.0]), method="ahc")
    assert list(result.labels) == ["row-00000", "row-00001"]


def test_labels_are_in_the_order_of_the_rows_even_if_sessions_alternate():
    embeddings, segments, _ = two_recordings()
    mixed = embeddings.select(np.random.default_rng(0).permutation(120))
    result = sms_diar.cluster(mixed, segments=segments)
    assert tuple(result.labels) == tuple(result.confidence) == mixed.ids
    speakers = sorted(set(result.labels.values()))
    assert result.labels_.dtype == np.int64
    assert [speakers[n] for n in result.labels_] == list(result.labels.values())


def test_without_times_tables_have_id_speaker_and_confidence(tmp_path):
    embeddings, segments, _ = two_recordings()
    result = sms_diar.cluster(embeddings)
    table = result.to_dataframe()
    assert list(table.columns) == ["id", "speaker", "confidence"]
    assert table["id"].tolist() == list(embeddings.ids)
    assert dict(zip(table["id"], table["speaker"], strict=True)) == result.labels
    assert table["confidence"].tolist() == list(result.confidence.values())
    result.to_labels(tmp_path / "x.csv")
    written = pd.read_csv(tmp_path / "x.csv")
    pd.testing.assert_frame_equal(written, table.sort_values("id", ignore_index=True))
    assert read_labels(tmp_path / "x.csv") == result.labels
    other = sms_diar.cluster(embeddings, method="ahc").to_dataframe()
    assert other["confidence"].isna().all()
    timed = sms_diar.cluster(embeddings, segments=segments)
    assert timed.to_dataframe()["duration"].sum() == pytest.approx(120.0)
    timed.to_labels(tmp_path / "y.csv")
    header = (tmp_path / "y.csv").read_text().partition("\n")[0]
    assert header == "id,speaker,recording,start,end,confidence"


def test_windows_that_overlap_have_no_rival_for_that_reason():
    # Windows of six stretches, of which each shares five with the next: neighbours in
    # time are the closest rows, whoever speaks.
    rng = np.random.default_rng(0)
    speakers = np.repeat(rng.standard_normal((3, 24)), 60, axis=0)
    stretches = speakers + 4.0 * rng.standard_normal(speakers.shape)
    windows = np.lib.stride_tricks.sliding_window_view(stretches, 6, axis=0)
    X = windows.mean(axis=-1)
    assert find_rival(X, np.arange(len(X)) // 60) is not None
    segments = [Segment("talk", 0.25 * i, 0.25 * i + 1.5) for i in range(len(X))]
    ids = [f"w{i:03d}" for i in range(len(X))]
    table = dict(zip(ids, segments, strict=True))
    [session] = sms_diar.cluster((ids, X), segments=table).sessions
    assert session.rival is None
