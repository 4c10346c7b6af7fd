"""WDER by hand, alignments by brute force, and the rates of meeteval by meeteval."""

import json
from decimal import Decimal
from functools import cache
from itertools import count, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.io.transcripts.files import write_transcript
from sms_diar.metrics.words import (
    WORD_RATES,
    AlignedWords,
    SpokenWord,
    WordRate,
    alignment,
    meeteval_rates,
    normalised,
    spoken_words,
)
from sms_diar.timeline.transcript import Phrase, Word, words_of_text

WORDS = st.lists(st.sampled_from("abc"), max_size=9)


def spoken(text, recording="r"):
    """Make a phrase of each ``speaker:word``, one per second."""
    parts = (part.split(":") for part in text.split())
    return [
        Phrase(recording, t, t + 1, speaker, (Word(word, t, t + 1),))
        for t, (speaker, word) in zip(count(0.0), parts, strict=False)
    ]


def brute_force(reference, hypothesis):
    """Cost of the best alignment, and the alignment, by recursion from the end."""

    @cache
    def best(i, j):
        if not i and not j:
            return 0, ()
        choices = []
        if j:  # of equal ones, min takes the first: insertion, then deletion
            cost, pairs = best(i, j - 1)
            choices.append((cost + 1, (*pairs, (-1, j - 1))))
        if i:
            cost, pairs = best(i - 1, j)
            choices.append((cost + 1, (*pairs, (i - 1, -1))))
        if i and j:
            cost, pairs = best(i - 1, j - 1)
            wrong = reference[i - 1] != hypothesis[j - 1]
            choices.append((cost + wrong, (*pairs, (i - 1, j - 1))))
        return min(choices, key=lambda choice: choice[0])

    return best(len(reference), len(hypothesis))


@given(WORDS, WORDS)
def test_alignment_is_the_best_one_that_inserts_and_deletes_late(ref, hyp):
    assert alignment(ref, hyp) == list(brute_force(ref, hyp)[1])


def test_long_alignment_has_the_cost_of_the_plain_table():
    rng = np.random.default_rng(3)
    ref, hyp = (list(rng.integers(0, 30, n)) for n in (301, 280))
    row = list(range(len(hyp) + 1))
    for i, word in enumerate(ref, start=1):
        previous, row = row, [i]
        for j, other in enumerate(hyp):
            edits = (row[j] + 1, previous[j + 1] + 1, previous[j] + (word != other))
            row.append(min(edits))
    pairs = alignment(ref, hyp)
    cost = sum(i < 0 or j < 0 or ref[i] != hyp[j] for i, j in pairs)
    assert cost == row[-1]
    assert [i for i, _ in pairs if i >= 0] == list(range(len(ref)))
    assert [j for _, j in pairs if j >= 0] == list(range(len(hyp)))


def test_wder_counts_aligned_words_with_a_wrong_speaker():
    # Words   a  b  c  d  e        Aligned: a-a, b-x, c-c, e-e; d deleted, f inserted.
    # Truth   A  A  B  B  B        Shared words: A-1 one, A-2 one, B-2 two, so 2 is B,
    # System  1  2  2     2  2     1 is A, and only b, said by 2, is wrong: 1 of 4.
    aligned = AlignedWords(
        spoken("A:a A:b B:c B:d B:e"), spoken("1:a 2:x 2:c 2:e 2:f"), "none"
    )
    assert aligned.mapping == {"1": "A", "2": "B"}
    assert aligned.wder == WordRate(1, 4)
    assert aligned.wder.rate == 0.25
    assert [(e.kind, e.is_wrong_speaker) for e in aligned.errors("r")] == [
        ("substitution", True),
        ("deletion", False),
        ("insertion", False),
    ]
    kinds = ("substitutions", "insertions", "deletions", "wrong_speaker")
    counts = {name: [row[k] for k in kinds] for name, row in aligned.speakers().items()}
    assert counts == {"A": [1, 0, 0, 1], "B": [0, 1, 1, 0]}
    assert [row["words"] for row in aligned.speakers().values()] == [2, 3]


def test_mapping_is_the_best_one_to_one_and_not_greedy():
    # Shared words: A-1 three, A-2 two, B-1 two. Greedy maps 1 to A and leaves 2 without
    # a partner for B: 3 right. The best maps 1 to B and 2 to A: 4 of 7.
    ref = spoken("A:a A:b A:c A:d A:e B:f B:g")
    hyp = spoken("1:a 1:b 1:c 2:d 2:e 1:f 1:g")
    aligned = AlignedWords(ref, hyp, "none")
    assert aligned.mapping == {"1": "B", "2": "A"}
    assert aligned.wder == WordRate(3, 7)


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from("123")), max_size=12))
def test_wder_of_right_words_is_that_of_the_best_permutation(speakers):
    ref = [
        Phrase("r", i, i, a, (Word(f"w{i}", i, i),))
        for i, (a, _) in enumerate(speakers)
    ]
    hyp = [
        Phrase("r", i, i, b, (Word(f"w{i}", i, i),))
        for i, (_, b) in enumerate(speakers)
    ]
    wrong = min(
        sum(dict(zip("123", names, strict=True))[b] != a for a, b in speakers)
        for names in permutations("ABC")
    )
    assert AlignedWords(ref, hyp, "none").wder == WordRate(wrong, len(speakers))


def test_words_without_a_speaker_are_those_of_unknown():
    hyp = [Phrase("r", 0, 2, None, words_of_text("a b", 0, 2))]
    assert AlignedWords(spoken("A:a A:b"), hyp, "none").mapping == {"unknown": "A"}


def test_empty_sides_have_no_wder():
    assert AlignedWords([], spoken("1:a"), "none").wder == WordRate(0, 0)
    assert AlignedWords(spoken("A:a"), [], "none").wder.rate is None


def test_simple_normalisation_removes_case_and_punctuation():
    # The accent of the second word is a character of its own.
    written = ["It\u2019s", "Cafe\u0301,", "(well-known)", "3.5", "\u2014"]
    simple = ["its", "caf\u00e9", "wellknown", "35", ""]
    assert [normalised(word, "simple") for word in written] == simple
    assert [normalised(word, "none") for word in written] == written


def test_words_of_punctuation_are_not_compared():
    ref, hyp = spoken("A:well A:- A:yes"), spoken("1:Well, 1:yes")
    assert AlignedWords(ref, hyp, "simple").errors("r") == []
    kinds = [error.kind for error in AlignedWords(ref, hyp, "none").errors("r")]
    assert kinds == ["substitution", "deletion"]


def test_words_are_in_order_of_time_and_phrases_keep_theirs():
    long = Phrase("r", 0, 9, "A", (Word("a", 0, 1), Word("c", 6, 7), Word("d", 5, 9)))
    short = Phrase("r", 2, 3, "B", (Word("b", 2, 3),))
    words = spoken_words([long, short], "none")
    assert [word.text for word in words] == ["a", "b", "c", "d"]


def test_word_errors_name_words_times_and_speakers():
    ref, hyp = spoken("A:Yes, B:no B:only"), spoken("1:yes 1:not")
    swapped, missed = AlignedWords(ref, hyp, "simple").errors("m")
    assert (swapped.recording, swapped.kind) == ("m", "substitution")
    assert swapped.reference == SpokenWord("no", 1.0, 2.0, "B", "no")
    assert swapped.hypothesis == SpokenWord("not", 1.0, 2.0, "1", "not")
    assert (missed.kind, missed.hypothesis) == ("deletion", None)
    assert missed.reference == SpokenWord("only", 2.0, 3.0, "B", "only")


def test_wder_is_that_of_diarizationlm():
    package = pytest.importorskip("diarizationlm.metrics")
    rng = np.random.default_rng(4)
    for _ in range(1000):
        sides = []
        for _ in range(2):
            n = rng.integers(1, 12)
            sides.append((rng.choice(list("abcd"), n), rng.integers(1, 4, n)))
        text = [" ".join(words) for words, _ in sides]
        names = [" ".join(map(str, speakers)) for _, speakers in sides]
        try:
            figures = package.compute_utterance_metrics(*text[::-1], *names[::-1])
        except ValueError:  # nothing is aligned, for which it has no rate
            continue
        ref, hyp = (
            spoken(" ".join(f"{s}:{w}" for w, s in zip(*side, strict=True)))
            for side in sides
        )
        wder = AlignedWords(ref, hyp, "simple").wder
        assert wder == WordRate(figures.wder_sub, figures.wder_total)


def test_wder_is_that_of_the_examples_of_diarizationlm(monkeypatch):
    examples = pytest.importorskip("diarizationlm.metrics_test")
    compute, compared = examples.metrics.compute_utterance_metrics, []

    def compute_both(hyp_text, ref_text, hyp_spk=None, ref_spk=None):
        figures = compute(hyp_text, ref_text, hyp_spk, ref_spk)
        if hyp_spk and ref_spk:
            ref, hyp = (
                spoken(" ".join(map(":".join, zip(who.split(), said, strict=True))))
                for who, said in (
                    (ref_spk, ref_text.split()), (hyp_spk, hyp_text.split())
                )
            )  # fmt: skip
            wder = AlignedWords(ref, hyp, "simple").wder
            compared.append(wder == WordRate(figures.wder_sub, figures.wder_total))
        return figures

    name = "compute_utterance_metrics"
    monkeypatch.setattr(examples.metrics, name, compute_both)
    for test in vars(examples.MetricsTest):
        if test.startswith("test_") and "json_file" not in test:  # files of its source
            getattr(examples.MetricsTest(test), test)()
    assert len(compared) >= 8
    assert all(compared)


# --- the rates of meeteval ------------------------------------------------------


def random_phrases(rng, speakers):
    """Phrases that may overlap, even of one speaker, or have no length."""
    phrases = []
    for start in np.round(rng.uniform(0, 30, rng.integers(0, 7)), 2).tolist():
        end = round(start + rng.choice([0.0, 0.5, 3.0]), 2)
        text = " ".join(rng.choice(["a", "bb", "ccc", "d"], rng.integers(1, 6)))
        words = words_of_text(text, start, end)
        phrases.append(Phrase("r", start, end, str(rng.choice(speakers)), words))
    return phrases


def check_against_meeteval(folder, seeds):
    meeteval = pytest.importorskip("meeteval")
    for seed in seeds:
        rng = np.random.default_rng(seed)
        ref = random_phrases(rng, ["A", "B", "C"]) or spoken("A:a")
        hyp = random_phrases(rng, ["1", "2", "3"]) or spoken("1:a")
        sides = []
        for phrases in (ref, hyp):  # as meeteval reads files
            write_transcript(folder / "x.json", phrases, "seglst")
            content = (folder / "x.json").read_text(encoding="utf-8")
            lines = json.loads(content, parse_float=Decimal)
            sides.append(meeteval.io.SegLST(lines))
        wer = meeteval.wer
        streams = [
            " ".join(word.text for word in spoken_words(side, "none"))
            for side in (ref, hyp)
        ]
        expected = {
            "wer": {"r": wer.siso_word_error_rate(*streams)},
            "cpwer": wer.cpwer(*sides),
            "tcpwer": wer.tcpwer(*sides, collar=Decimal("1.5")),
            "orcwer": wer.greedy_orcwer(*sides),
            "dicpwer": wer.greedy_dicpwer(*sides),
        }
        rates = meeteval_rates(ref, hyp, 1.5, "none")
        assert set(rates) == set(expected) == {*WORD_RATES} - {"wder"}
        for name, rate in rates.items():
            theirs = expected[name]["r"]
            assert rate.rate == theirs.error_rate, (seed, name)
            assert rate == tuple(getattr(theirs, field) for field in rate._fields)
        # All best alignments have the same number of edits, although ties may differ.
        assert (
            rates["wer"].errors == brute_force(*map(tuple, map(str.split, streams)))[0]
        )


def test_rates_are_those_of_meeteval_for_the_same_files(tmp_path):
    check_against_meeteval(tmp_path, range(100))


@pytest.mark.soak
def test_rates_are_those_of_meeteval_for_a_thousand_files(tmp_path):
    check_against_meeteval(tmp_path, range(100, 1100))


def test_rates_that_meeteval_refuses_for_many_speakers_are_missing():
    pytest.importorskip("meeteval")
    ref = spoken(" ".join(f"s{i}:w{i}" for i in range(21)))
    rates = meeteval_rates(ref, ref, 5.0, "none")
    assert rates == {"wer": WordRate(0, 21, 0, 0, 0)}
    rates = meeteval_rates(ref[1:], ref[1:], 5.0, "none")
    assert set(rates) == {"wer", "cpwer", "tcpwer"}
