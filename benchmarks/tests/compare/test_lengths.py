"""Cuts, repeats and splices of conversations."""

import numpy as np
import pytest

from benchmarks.compare.conversations import Conversation, draw_conversations
from benchmarks.compare.lengths import (
    LEAST_VOICE,
    Voice,
    cut,
    repeat,
    splice,
    voices_of,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.types import Segment


@pytest.fixture(scope="module")
def talks():
    return draw_conversations(world={"dim": 8, "eer": 0.02}, each=2, seed=1)


def test_a_cut_has_whole_stretches_and_is_not_too_long(talks):
    conversation = talks["c3_0"]
    whole = {tuple(stretch) for stretch in conversation.stretches()}
    first = set()
    for seed in range(20):
        found = cut(conversation, 20.0, np.random.default_rng(seed))
        assert found.segments[0].start == 0.0
        assert found.seconds <= 20.0
        rows = np.flatnonzero((conversation.X[:, None] == found.X).all(2).any(1))
        assert rows.tolist() == list(range(rows[0], rows[0] + len(found.X)))
        # Made of stretches of the conversation, none of them torn.
        assert sum(len(s) for s in whole if set(s) <= set(rows.tolist())) == len(rows)
        first.add(int(rows[0]))
    assert len(first) > 3


def test_a_cut_longer_than_the_conversation_is_all_of_it(talks):
    conversation = talks["c2_0"]
    found = cut(conversation, 1e4, np.random.default_rng(0))
    np.testing.assert_array_equal(found.X, conversation.X)


def test_a_stretch_that_is_too_long_is_torn():
    segments = tuple(Segment("r", 0.75 * i, 0.75 * i + 1.5) for i in range(20))
    talk = Conversation(np.eye(20), segments, np.array(["a"] * 20))
    # The last window within 5 s begins at 3 s.
    assert len(cut(talk, 5.0, np.random.default_rng(0)).X) == 5


def test_a_repeated_conversation_recurs_exactly_and_later(talks):
    once = talks["c2_0"]
    found = repeat(once, 3)
    n = len(once.X)
    np.testing.assert_array_equal(found.X[n : 2 * n], once.X)
    assert found.speakers.tolist() == 3 * once.speakers.tolist()
    starts = np.array([segment.start for segment in found.segments])
    assert np.all(np.diff(starts) > 0)
    gaps = starts[n:] - starts[:-n]
    np.testing.assert_allclose(gaps, once.seconds + 0.8)


def test_voices_have_all_stretches_of_a_speaker(talks):
    voices = voices_of(talks.values())
    every = np.concatenate([talk.speakers for talk in talks.values()])
    for name, voice in voices.items():
        sizes = sum(map(len, voice.stretches))
        assert sizes == np.count_nonzero(every == name) >= LEAST_VOICE


def test_windows_between_the_old_ones_keep_mean_and_variance():
    # Neighbours share half of their noise, as windows that overlap by half do.
    noise = np.random.default_rng(0).standard_normal((40_001, 2))
    rows = np.array([5.0, 0.0]) + (noise[1:] + noise[:-1]) / np.sqrt(2.0)
    voice = Voice(rows.mean(axis=0), [rows])
    drawn = [voice.shifted(np.random.default_rng(seed)) for seed in range(5)]
    for found in drawn:
        assert len(found) == len(rows) - 1
        np.testing.assert_allclose(found.mean(axis=0), [5.0, 0.0], atol=0.03)
        np.testing.assert_allclose(found.var(axis=0), 1.0, atol=0.03)
    assert not np.array_equal(drawn[0], drawn[1])


def test_a_single_window_cannot_be_shifted():
    voice = Voice(np.zeros(2), [np.ones((1, 2))])
    found = voice.shifted(np.random.default_rng(0))
    np.testing.assert_array_equal(found, np.ones((1, 2)))


@pytest.mark.parametrize("speakers", [1, 2, 4])
def test_hours_are_spliced_from_minutes(talks, speakers):
    voices = voices_of(talks.values())
    found = splice(voices, speakers, 900, np.random.default_rng(0))
    assert len(found.X) == len(found.segments) == len(found.speakers) == 900
    assert len(np.unique(found.speakers)) == speakers
    starts = np.array([segment.start for segment in found.segments])
    assert np.all(np.diff(starts) > 0)
    # Some passages recur to the last digit, others do not.
    distinct = len(np.unique(found.X, axis=0))
    assert 0.4 * 900 < distinct < 0.9 * 900
    said = {name: np.concatenate(voices[name].stretches) for name in voices}
    for row, name in zip(found.X[:50], found.speakers[:50], strict=True):
        gaps = np.linalg.norm(said[name] - row, axis=1)
        assert gaps.min() < 6.0


def test_more_speakers_than_there_are_voices_are_refused(talks):
    voices = voices_of([talks["c1_0"]])
    with pytest.raises(InvalidParameterError, match="speakers must be at most the 1"):
        splice(voices, 2, 10, np.random.default_rng(0))
