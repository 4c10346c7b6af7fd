"""What comes with the package."""

import numpy as np

import sms_diar
from sms_diar._progress import Silence
from sms_diar.datasets import (
    default_model_path,
    digits_ivectors_path,
    load_digits_ivectors,
)
from sms_diar.metrics import all_pairs, equal_error_rate, score_labels
from sms_diar.pipeline.train.models import choose_backend, read_ivector_model
from sms_diar.types import EmbeddingSet


def test_the_files_are_small_enough():
    assert default_model_path().stat().st_size <= 6_000_000
    assert digits_ivectors_path().stat().st_size <= 1_500_000


def test_the_sample_is_that_of_the_model():
    embeddings, speakers = load_digits_ivectors()
    model = read_ivector_model(default_model_path())
    assert embeddings.extractor == model.extractor.fingerprint
    assert (len(embeddings), len(set(speakers))) == (2013, 60)


def test_the_card_states_the_error_rate_of_the_back_end_found_by_fingerprint():
    embeddings, speakers = load_digits_ivectors()
    backend = choose_backend(embeddings)
    assert backend.extractor == embeddings.extractor
    scores = backend.score_matrix(embeddings.vectors)
    eer = equal_error_rate(*all_pairs(scores, np.array(speakers)))
    card = (default_model_path().parent / "MODEL_CARD.md").read_text()
    assert f"{100 * eer:.1f} %" in card
    assert eer < 0.10


def test_the_model_has_a_back_end_for_windows_in_rooms():
    model = read_ivector_model()
    assert model.window_backend.extractor == model.extractor.fingerprint
    assert not np.array_equal(model.window_backend.gain, model.backend.gain)
    # Links were calibrated on cosines, which must not depend on the back end.
    X = load_digits_ivectors().embeddings.vectors[:50]
    np.testing.assert_array_equal(
        model.window_backend.prepare(X), model.backend.prepare(X)
    )


def test_seven_real_speakers_are_told_apart_with_the_embedded_back_end():
    embeddings, speakers = load_digits_ivectors()
    names = sorted(set(speakers))[:7]
    rows = [row for row, name in enumerate(speakers) if name in names]
    chosen = EmbeddingSet(
        tuple(embeddings.ids[row] for row in rows),
        embeddings.vectors[rows],
        embeddings.extractor,
    )
    lines = []

    class Listener(Silence):
        def say(self, message):
            lines.append(message)

    found = sms_diar.cluster(chosen, progress=Listener())
    assert "plda scores" in lines[0]
    truth = {embeddings.ids[row]: speakers[row] for row in rows}
    figures = score_labels(truth, found.labels)
    assert figures["k"] > 0.9
    assert 6 <= figures["n_clusters"] <= 8


def test_the_sample_conversation_is_small_and_agrees_with_its_reference():
    from sms_diar.datasets import sample_conversation
    from sms_diar.io.audio.files import AudioFile
    from sms_diar.io.turns.rttm import read_rttm

    audio, reference = sample_conversation()
    assert audio.stat().st_size + reference.stat().st_size < 400_000
    turns = list(read_rttm(reference))
    assert {turn.segment.recording for turn in turns} == {audio.stem}
    assert len({turn.speaker for turn in turns}) == 4
    with AudioFile(audio) as recording:
        assert (recording.rate, recording.duration) == (8000, 90.0)
        samples = recording.read(0, recording.n_samples)
    spoken = np.zeros(len(samples), dtype=bool)
    for turn in turns:
        spoken[round(turn.segment.start * 8000) : round(turn.segment.end * 8000)] = True
    # Speech is where the reference says: outside of it there is next to nothing.
    assert np.abs(samples[~spoken]).mean() < 0.05 * np.abs(samples[spoken]).mean()
