"""Simulated transcripts, and rules that give words to speakers."""

import pytest

from benchmarks.words import rules
from benchmarks.words.__main__ import measured
from benchmarks.words.transcripts import Condition, simulate
from sms_diar.timeline.transcript import Phrase, Word
from sms_diar.types import Segment, Turn

TURNS = [Turn(Segment("r", 0.0, 2.0), "a"), Turn(Segment("r", 3.0, 6.0), "b")]
WORDS = [
    (Word("in", 0.0, 0.5), "a"),
    (Word("mostly", 1.8, 3.5), "b"),  # 0.2 s with a, 0.5 s with b
    (Word("near", 2.1, 2.4), "a"),
]


def test_a_word_goes_to_the_greatest_overlap_or_to_the_nearest():
    phrases = [Phrase("r", 0.0, 3.5, words=tuple(word for word, _ in WORDS))]
    assert rules.by_word(phrases, TURNS) == [name for _, name in WORDS]
    assert rules.whisperx(phrases, TURNS) == ["a", "b", None]
    # The phrase shares 2 s with a and 0.5 s with b.
    assert rules.by_phrase(phrases, TURNS) == ["a", "a", "a"]


def test_words_of_the_simulation_are_inside_turns_of_their_speakers():
    drawn = simulate(Condition(overlap=0.25), seed=1)
    words = [word for phrase in drawn.phrases for word in phrase.words]
    assert len(words) == len(drawn.speakers) > 1000
    for word, speaker in zip(words, drawn.speakers, strict=True):
        assert any(
            turn.speaker == speaker
            and turn.segment.start <= word.start + 1e-6
            and word.end <= turn.segment.end + 1e-6
            for turn in drawn.turns
        )


def test_the_model_makes_fewer_errors_than_the_greatest_overlap():
    (ours, by_word, *_) = measured(Condition(0.25, 0.1), seeds=[300]).mean(axis=0)
    assert ours < by_word
    exact = measured(Condition(), seeds=[300])[0]
    assert exact[:3].tolist() == pytest.approx([0.0, 0.0, 0.0])
