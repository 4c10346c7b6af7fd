"""Words and their speakers."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.timeline.transcript import Phrase, Word, words_of_text
from sms_diar.timeline.word_speakers import (
    BLURS,
    NEAR,
    SpeakerModel,
    assign_speakers,
    change_cues,
    word_activity,
    word_blur,
)
from sms_diar.types import Segment, Turn


def turn(start, end, speaker):
    return Turn(Segment("r", start, end), speaker)


def spoken(*words):
    """Phrase of words given as (text, start, end)."""
    listed = tuple(Word(*word) for word in words)
    return Phrase("r", listed[0].start, listed[-1].end, words=listed)


def speakers_of(phrases):
    return [phrase.speaker for phrase in phrases for _ in phrase.words]


def texts_of(phrases):
    return [word.text for phrase in phrases for word in phrase.words]


@st.composite
def models(draw):
    shape = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return SpeakerModel(*rng.uniform(0.01, 3.0, (3, *shape)))


@given(models())
def test_the_posterior_is_the_sum_over_all_paths(model):
    n_words, n_speakers = model.fit.shape
    expected = np.zeros(model.fit.shape)
    for path in itertools.product(range(n_speakers), repeat=n_words):
        value = model.fit[0, path[0]]
        for word, (x, y) in enumerate(itertools.pairwise(path), 1):
            change = 1.0 if x == y else model.leave[word, x] + model.enter[word, y]
            value *= change * model.fit[word, y]
        expected[np.arange(n_words), path] += value
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.posterior(), expected, rtol=1e-9)


def test_the_posterior_of_a_long_recording_is_finite():
    rng = np.random.default_rng(0)
    shape = (3, 20_000, 2)
    posterior = SpeakerModel(*10.0 ** rng.uniform(-4.0, 4.0, shape)).posterior()
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    assert posterior.min() >= 0.0


def test_potentials_are_exponentials_of_weighted_cues():
    weights = (-2.0, 4.0, -1.0, 3.0, -5.0, 2.0, 0.5)
    model = SpeakerModel.weighted(
        np.array([[0.25, 1.0]]),
        np.array([[1.0]]),
        np.array([[0.0, 2.0]]),
        np.array([[3.0, 1.0]]),
        weights,
    )
    np.testing.assert_allclose(model.fit, [[0.5, 1.0]])
    # At the end of a turn -2 + 4 minus the distance; at the start -1 + 3 minus the
    # distance, or at any time -5 + 2.
    np.testing.assert_allclose(np.log(model.leave), [[2.0, 0.0]])
    expected = [[np.exp(-1.0) + np.exp(-3.0), np.exp(1.0) + np.exp(-3.0)]]
    np.testing.assert_allclose(model.enter, expected)


def test_activity_is_the_share_of_a_word_with_exact_times():
    # Half of the word is in the turn of a, half in that of b.
    turns = [turn(0, 1, "a"), turn(1, 2, "b")]
    activity = word_activity([Word("x", 0.75, 1.25)], turns, np.array([1e-6]))
    np.testing.assert_allclose(activity, [[0.5, 0.5]], atol=1e-5)


def test_activity_far_from_an_edge_decays_exponentially():
    # The mass of a Laplace distribution beyond a distance d is exp(-d / blur) / 2, and
    # its mean over a word from d to d + 0.1 is half the integral, divided by 0.1.
    blur, near, far = 0.08, 0.2, 0.3
    mass = blur * (math.exp(-near / blur) - math.exp(-far / blur)) / 0.1 / 2
    words = [Word("x", 10.2, 10.3)]
    activity = word_activity(words, [turn(0, 10, "a")], np.array([blur]))
    np.testing.assert_allclose(activity, [[mass]], rtol=1e-9)


def test_activity_agrees_with_a_numerical_integral():
    blur, times = 0.1, np.arange(-3.0, 6.0, 1e-3) + 5e-4
    turns = [turn(0.0, 0.7, "a"), turn(1.1, 2.0, "a"), turn(0.5, 1.3, "b")]
    word = Word("x", 0.55, 0.95)
    shifts = np.exp(-np.abs(times) / blur) / (2 * blur) * 1e-3
    expected = []
    for name in "ab":
        inside = np.zeros_like(times)
        for each in turns:
            if each.speaker == name:
                begin, end = each.segment.start, each.segment.end
                low = np.maximum(word.start + times, begin)
                high = np.minimum(word.end + times, end)
                inside += np.maximum(high - low, 0.0) / 0.4
        expected.append((inside * shifts).sum())
    activity = word_activity([word], turns, np.array([blur]))
    np.testing.assert_allclose(activity[0], expected, rtol=1e-3)


def test_overlapping_turns_of_a_speaker_count_once():
    turns = [turn(0, 2, "a"), turn(1, 3, "a")]
    activity = word_activity([Word("x", 1.4, 1.6)], turns, np.array([0.01]))
    np.testing.assert_allclose(activity, [[1.0]])


def test_a_turn_is_active_to_the_degree_of_its_confidence():
    turns = [turn(0, 2, "a"), turn(0, 2, "b")]
    words = [Word("x", 0.9, 1.1)]
    activity = word_activity(words, turns, np.array([0.01]), [0.25, None])
    np.testing.assert_allclose(activity, [[0.25, 1.0]])


def test_cues_are_ends_of_sentences_and_distances_of_edges():
    words = [Word("so.", 0.0, 0.5), Word("(yes!)", 0.6, 1.0), Word("and", 1.0, 1.2)]
    turns = [turn(0.7, 5.0, "b"), turn(0.0, 0.55, "a"), turn(1.3, 2.0, "a")]
    stop, at_end, at_start = change_cues(words, turns, np.full(3, 0.1))
    np.testing.assert_allclose(stop, [[0], [1], [1]])
    # Previous words end at 0.5 and 1.0; turns of a end at 0.55 and 2.0, of b at 5.0.
    np.testing.assert_allclose(at_end[1:], [[0.5, 45.0], [4.5, 40.0]])
    # The words start at 0.6 and 1.0; turns of a start at 0.0 and 1.3, of b at 0.7.
    np.testing.assert_allclose(at_start[1:], [[6.0, 1.0], [3.0, 3.0]])


def test_without_punctuation_the_end_of_a_sentence_is_unknown():
    words = [Word("so", 0.0, 0.5), Word("yes", 0.5, 1.0)]
    stop, *_ = change_cues(words, [turn(0, 1, "a")], np.full(2, 0.1))
    assert stop[1] == 0.5


def test_the_blur_is_small_if_words_fit_and_large_if_they_do_not():
    turns = [turn(2.0 * n, 2.0 * n + 1.0, "ab"[n % 2]) for n in range(500)]
    # The second word of each turn ends with it, or begins 0.2 s after its end.
    for begin, blur in ((0.9, BLURS[0]), (1.2, BLURS[-1])):
        words = [
            Word("x", 2.0 * n + first, 2.0 * n + first + 0.1)
            for n in range(500)
            for first in (0.5, begin)
        ]
        assert word_blur(words, turns)[0] == blur


def test_a_phrase_is_split_where_the_speaker_changes():
    phrase = spoken(("I", 0.1, 0.4), ("think", 0.5, 0.9), ("so.", 1.0, 1.3))
    phrase = Phrase("r", 0, 3, words=(*phrase.words, Word("Yes.", 2.0, 2.4)))
    assigned = assign_speakers([phrase], [turn(0, 1.4, "a"), turn(1.9, 2.5, "b")])
    assert [(p.speaker, p.text, p.start, p.end) for p in assigned] == [
        ("a", "I think so.", 0.1, 1.3),
        ("b", "Yes.", 2.0, 2.4),
    ]
    assert all(word.speaker_confidence > 0.9 for p in assigned for word in p.words)


def test_a_phrase_of_one_speaker_keeps_its_times():
    phrase = Phrase("r", 0.0, 3.0, words=(Word("Yes.", 1.0, 1.4),))
    (assigned,) = assign_speakers([phrase], [turn(0, 3, "a")])
    assert (assigned.start, assigned.end, assigned.speaker) == (0.0, 3.0, "a")


def test_a_word_at_the_edge_follows_its_sentence():
    # "so." is nearer to the turn of b, but it ends the sentence of a.
    turns = [turn(0, 2.0, "a"), turn(2.0, 4.0, "b")]
    words = [(f"w{n}", 0.25 * n, 0.25 * n + 0.25) for n in range(7)]
    words += [("so.", 1.92, 2.17)]
    words += [(f"v{n}", 2.17 + 0.25 * n, 2.42 + 0.25 * n) for n in range(5)]
    # Others are late and early, so that the blur is larger than the least one.
    others = [spoken(("x", 10.0 + 2 * n, 10.3 + 2 * n)) for n in range(40)]
    turns += [turn(10.1 + 2 * n, 10.5 + 2 * n, "a") for n in range(40)]
    assigned = assign_speakers([spoken(*words), *others], turns)
    assert speakers_of(assigned)[:13] == ["a"] * 8 + ["b"] * 5


def test_a_single_word_between_long_turns_survives():
    turns = [turn(0, 3, "a"), turn(3.2, 3.6, "b"), turn(3.8, 7, "a")]
    words = [("w", 0.3 * n, 0.3 * n + 0.3) for n in range(9)] + [("then", 2.7, 3.0)]
    words += [("yeah.", 3.2, 3.6)]
    words += [("w", 3.8 + 0.3 * n, 4.1 + 0.3 * n) for n in range(10)]
    assigned = assign_speakers([spoken(*words)], turns)
    assert speakers_of(assigned) == ["a"] * 10 + ["b"] + ["a"] * 10


def test_in_overlap_the_sentence_continues():
    # b begins at 2 and a ends at 3; the sentence of a goes on until 3.
    turns = [turn(0, 3, "a"), turn(2, 5, "b")]
    words = [("w", 0.5 * n, 0.5 * n + 0.5) for n in range(5)] + [("end.", 2.5, 3.0)]
    words += [("v", 3.0 + 0.5 * n, 3.5 + 0.5 * n) for n in range(4)]
    assigned = assign_speakers([spoken(*words)], turns)
    assert speakers_of(assigned) == ["a"] * 6 + ["b"] * 4


def test_in_overlap_an_interruption_begins_with_a_turn():
    # b begins at 2 and a ends at 3; the sentence of a ends at 2.
    turns = [turn(0, 3, "a"), turn(2, 5, "b")]
    words = [("w", 0.5 * n, 0.5 * n + 0.5) for n in range(3)] + [("end.", 1.5, 2.0)]
    words += [("v", 2.0 + 0.5 * n, 2.5 + 0.5 * n) for n in range(6)]
    assigned = assign_speakers([spoken(*words)], turns)
    assert speakers_of(assigned) == ["a"] * 4 + ["b"] * 6


def test_a_word_between_turns_of_its_speaker_does_not_go_to_a_silent_one():
    turns = [turn(0, 1, "a"), turn(1.3, 1.8, "a"), turn(1.9, 4, "a"), turn(9, 10, "b")]
    words = [("w", 0.0, 0.5), ("x.", 0.5, 1.0), ("y.", 1.3, 1.8), ("z", 1.9, 2.4)]
    assigned = assign_speakers([spoken(*words)], turns)
    assert speakers_of(assigned) == ["a"] * 4
    assert min(word.speaker_confidence for p in assigned for word in p.words) > 0.8


def test_words_outside_all_turns_go_to_the_nearest_or_to_nobody():
    turns = [turn(0, 1, "a"), turn(3, 4, "b")]
    near = spoken(("x", 3.9 + NEAR / 2, 4.0 + NEAR))
    far = spoken(("y", 4.01 + NEAR, 4.2 + NEAR))
    before = spoken(("z", 2.5, 2.7))
    assigned = assign_speakers([before, near, far], turns)
    assert speakers_of(assigned) == ["b", "b", None]
    assert [p.words[0].speaker_confidence is None for p in assigned] == [
        False,
        False,
        True,
    ]


def test_without_turns_nobody_said_a_word():
    phrase = spoken(("x", 0, 1), ("y", 1, 2))
    assert speakers_of(assign_speakers([phrase], [])) == [None, None]


def test_words_without_length_have_a_speaker():
    phrase = spoken(("x", 1.0, 1.0), ("y", 1.0, 1.0))
    assert speakers_of(assign_speakers([phrase], [turn(0, 2, "a")])) == ["a", "a"]


def test_estimated_times_are_trusted_less():
    phrase = Phrase("r", 0, 2, words=words_of_text("one two", 0, 2))
    exact = spoken(("one", 0, 1), ("two", 1, 2))
    turns = [turn(0, 1, "a"), turn(1, 2, "b")]
    first, second = (
        assign_speakers([p], turns)[0].words[0].speaker_confidence
        for p in (phrase, exact)
    )
    assert first < second


@st.composite
def conversations(draw, pauses=(0.0, 0.1, 0.5, 2.0)):
    """Turns without overlap, and words of them, in phrases of any length."""
    turns, words, labels, at = [], [], [], 0.0
    for number in range(draw(st.integers(2, 6))):
        n_words = draw(st.integers(1, 6))
        at += draw(st.sampled_from(pauses))
        name = "abc"[(number + draw(st.integers(0, 1))) % 3]
        turns.append(turn(at, at + 0.25 * n_words, name))
        for index in range(n_words):
            text = draw(st.sampled_from(["well", "yes.", "so,"]))
            begin, end = at + 0.25 * index, at + 0.25 * (index + 1)
            words.append(Word(text, begin, end))
            labels.append(name)
        at += 0.25 * n_words
    phrases = []
    while words:
        size = draw(st.integers(1, 8))
        part, words = tuple(words[:size]), words[size:]
        phrases.append(Phrase("r", part[0].start, part[-1].end, words=part))
    return turns, phrases, labels


@given(conversations(pauses=(0.4, 0.5, 2.0)))
def test_exact_words_between_pauses_have_the_right_speaker(conversation):
    turns, phrases, labels = conversation
    assert speakers_of(assign_speakers(phrases, turns)) == labels


@given(conversations())
def test_no_word_is_lost_or_reordered(conversation):
    turns, phrases, labels = conversation
    assigned = assign_speakers(phrases, turns)
    assert texts_of(assigned) == texts_of(phrases)
    times = [(w.start, w.end) for p in assigned for w in p.words]
    assert times == [(w.start, w.end) for p in phrases for w in p.words]
    assert len(speakers_of(assigned)) == len(labels)


@given(conversations(), st.permutations("abc"))
def test_renaming_speakers_renames_the_words(conversation, names):
    turns, phrases, _ = conversation
    new = dict(zip("abc", names, strict=True))
    renamed = [Turn(t.segment, new[t.speaker]) for t in turns]
    probability = [
        word.speaker_confidence
        for p in assign_speakers(phrases, turns)
        for word in p.words
    ]
    for before, after, p in zip(
        speakers_of(assign_speakers(phrases, turns)),
        speakers_of(assign_speakers(phrases, renamed)),
        probability,
        strict=True,
    ):
        # Equal probabilities are decided by the order of the names.
        assert after == new[before] or p < 0.6


@given(conversations())
def test_a_shift_of_all_times_changes_nothing(conversation):
    turns, phrases, _ = conversation
    late = [turn(t.segment.start + 64, t.segment.end + 64, t.speaker) for t in turns]
    moved = [
        Phrase(
            "r",
            p.start + 64,
            p.end + 64,
            words=tuple(Word(w.text, w.start + 64, w.end + 64) for w in p.words),
        )
        for p in phrases
    ]
    here, there = assign_speakers(phrases, turns), assign_speakers(moved, late)
    assert speakers_of(here) == speakers_of(there)
    for one, other in zip(here, there, strict=True):
        for left, right in zip(one.words, other.words, strict=True):
            assert left.speaker_confidence == pytest.approx(
                right.speaker_confidence, abs=1e-5
            )
