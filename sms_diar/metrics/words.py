"""Error rates of words and of their speakers.

WDER, the word diarization error rate (Shafey et al. 2019), is computed here: the words
of both sides are aligned by edit distance, and the rate is the share of aligned words
whose speaker is wrong. meeteval computes the other rates.
"""

from __future__ import annotations

import logging
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sms_diar.errors import MissingExtraError
from sms_diar.metrics.diarization.mapping import best_assignment
from sms_diar.timeline.transcript import Phrase
from sms_diar.types import FloatArray

NORMALISATIONS = {
    "simple": "words are compared in lower case without punctuation",
    "none": "words are compared as they are written",
}
WORD_RATES = ("wer", "cpwer", "tcpwer", "orcwer", "dicpwer", "wder")


class WordRate(NamedTuple):
    """Number of errors, number of words that could be wrong, and kinds of errors.

    `length` is the number of reference words. For WDER, it is the number of aligned
    words, and errors have no kinds.
    """

    errors: int
    length: int
    substitutions: int | None = None
    insertions: int | None = None
    deletions: int | None = None

    @property
    def rate(self) -> float | None:
        """Errors per word, None without words."""
        return self.errors / self.length if self.length else None


WordRates: TypeAlias = dict[str, WordRate]


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word with its speaker; `compared` is the normalised text."""

    text: str
    start: float
    end: float
    speaker: str
    compared: str


@dataclass(frozen=True, slots=True)
class WordError:
    """A wrong word; a deletion has no hypothesis, an insertion no reference.

    `kind` is "substitution", "deletion", "insertion", or "speaker" if only the speaker
    is wrong; `is_wrong_speaker` is also true for substitutions with a wrong speaker.
    """

    recording: str
    kind: str
    reference: SpokenWord | None
    hypothesis: SpokenWord | None
    is_wrong_speaker: bool


class AlignedWords:
    """Words of one recording, aligned by edit distance.

    `pairs` are the aligned words of reference and hypothesis in order, None for a
    missing partner. `mapping` is the reference speaker of each hypothesis speaker, one
    to one, such that most aligned words have the right speaker.
    """

    def __init__(
        self, reference: Iterable[Phrase], hypothesis: Iterable[Phrase], normalise: str
    ) -> None:
        ref, hyp = (spoken_words(side, normalise) for side in (reference, hypothesis))
        indices = alignment([w.compared for w in ref], [w.compared for w in hyp])
        self.pairs = [
            (ref[i] if i >= 0 else None, hyp[j] if j >= 0 else None) for i, j in indices
        ]
        counts = Counter((a.speaker, b.speaker) for a, b in self.pairs if a and b)
        rows, columns = (sorted({pair[side] for pair in counts}) for side in (0, 1))
        table = np.zeros((len(rows), len(columns)), dtype=np.int64)
        for (row, column), count in counts.items():
            table[rows.index(row), columns.index(column)] = count
        choices = zip(rows, best_assignment(table).tolist(), strict=True)
        self.mapping = {columns[column]: row for row, column in choices if column >= 0}

    def _is_wrong(self, ref: SpokenWord | None, hyp: SpokenWord | None) -> bool:
        return bool(ref and hyp and self.mapping.get(hyp.speaker) != ref.speaker)

    @property
    def wder(self) -> WordRate:
        """Aligned words with a wrong speaker."""
        n_aligned = sum(bool(ref and hyp) for ref, hyp in self.pairs)
        return WordRate(sum(self._is_wrong(*pair) for pair in self.pairs), n_aligned)

    def errors(self, recording: str) -> list[WordError]:
        """List wrong words in the order of the alignment."""
        errors = []
        for ref, hyp in self.pairs:
            is_wrong = self._is_wrong(ref, hyp)
            kind = "speaker" if is_wrong else ""
            if ref is None or hyp is None:
                kind = "deletion" if ref else "insertion"
            elif ref.compared != hyp.compared:
                kind = "substitution"
            if kind:
                errors.append(WordError(recording, kind, ref, hyp, is_wrong))
        return errors

    def speakers(self) -> dict[str, dict[str, Any]]:
        """Count words and errors of each reference speaker.

        Insertions count for the speaker to whom the inserting speaker is mapped.
        """
        words = Counter(ref.speaker for ref, _ in self.pairs if ref)
        partner = {ref: hyp for hyp, ref in self.mapping.items()}
        counts: Counter[tuple[str | None, str]] = Counter()
        for error in self.errors(""):
            ref, hyp = error.reference, error.hypothesis
            name = ref.speaker if ref else self.mapping.get(hyp.speaker if hyp else "")
            counts[name, f"{error.kind}s"] += 1
            counts[name, "wrong_speaker"] += error.is_wrong_speaker
        kinds = ("substitutions", "insertions", "deletions", "wrong_speaker")
        return {
            name: {"hypothesis": partner.get(name), "words": words[name]}
            | {kind: counts[name, kind] for kind in kinds}
            for name in sorted(words)
        }


@dataclass(frozen=True, eq=False)
class WordScores:
    """Rates and aligned words of each recording of a system."""

    recordings: Mapping[str, WordRates]
    aligned: Mapping[str, AlignedWords]

    @cached_property
    def overall(self) -> WordRates:
        """Rates of all recordings together; only rates that all recordings have."""
        rows = self.recordings.values()
        overall = {}
        for name in WORD_RATES:
            if all(name in row for row in rows):
                columns = zip(*(row[name] for row in rows), strict=True)
                sums: Any = (
                    None if None in column else sum(column) for column in columns
                )
                overall[name] = WordRate(*sums)
        return overall

    def errors(self) -> list[WordError]:
        """List the wrong words."""
        return [e for name, words in self.aligned.items() for e in words.errors(name)]

    def counts(self, measure: str, names: Sequence[str]) -> FloatArray:
        """Errors and words of recordings, shape (n_names, 2); 0 without a recording."""
        rates = (self.recordings.get(name) for name in names)
        rows = [row[measure][:2] if row else (0, 0) for row in rates]
        return np.array(rows, dtype=np.float64)


def drawn_rate(counts: list[FloatArray], weights: list[FloatArray]) -> FloatArray:
    """Compute a rate of samples of recordings, shape (n_samples,).

    `counts` of shape (n, 2) and `weights` of shape (n_samples, n) are added by system.
    """
    parts = (w @ table for w, table in zip(weights, counts, strict=True))
    errors, words = sum(parts, np.zeros(2)).T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(errors / words)


def normalised(text: str, normalise: str) -> str:
    """Normalise a word; nothing is left of a word of punctuation."""
    if normalise == "none":
        return text
    letters = unicodedata.normalize("NFC", text.lower())
    return "".join(c for c in letters if not unicodedata.category(c).startswith("P"))


def spoken_words(phrases: Iterable[Phrase], normalise: str) -> list[SpokenWord]:
    """List the words of all speakers in order of time; each phrase keeps its order.

    Words without a speaker belong to "unknown", as in files.
    """
    timed = []
    for phrase in phrases:
        speaker = phrase.speaker or "unknown"
        starts = accumulate((word.start for word in phrase.words), max)
        for start, word in zip(starts, phrase.words, strict=True):
            if text := normalised(word.text, normalise):
                spoken = SpokenWord(word.text, word.start, word.end, speaker, text)
                timed.append((start, spoken))
    return [spoken for _, spoken in sorted(timed, key=lambda item: item[0])]


def alignment(
    reference: Sequence[str], hypothesis: Sequence[str]
) -> list[tuple[int, int]]:
    """Align two sequences with the smallest number of edits.

    Returns the indices of partners in order, -1 for no partner. Of several optimal
    alignments, the one is chosen that, followed from the end, inserts first, then
    deletes. Time and memory grow with the product of the lengths: 30,000 by 30,000
    words take 5 s and 225 MB.

    >>> alignment(["a", "b", "c"], ["b", "x"])
    [(0, -1), (1, 0), (2, 1)]
    """
    codes: dict[str, int] = {}
    ref, hyp = (
        np.array([codes.setdefault(word, len(codes)) for word in words], dtype=np.int32)
        for words in (reference, hypothesis)
    )
    # Distances are stored less their column, so that an insertion does not change them.
    row = np.zeros(len(hyp) + 1, dtype=np.int32)
    # Of insertion and deletion, as bits, before and after each word of the reference.
    flags = [[b"\xff" * (len(hyp) // 8 + 1)] * 2]
    for word in ref:
        deleted = row + 1
        row, before = deleted.copy(), row
        np.minimum(row[1:], before[:-1] - (hyp == word), out=row[1:])
        np.minimum.accumulate(row, out=row)
        is_inserted = np.append(False, row[1:] == row[:-1])
        flags.append(
            [np.packbits(bits).tobytes() for bits in (is_inserted, row == deleted)]
        )
    i, j = len(ref), len(hyp)
    pairs = []
    while i or j:
        inserts, deletes = (bits[j // 8] >> (7 - j % 8) & 1 for bits in flags[i])
        if j and inserts:
            j -= 1
            pairs.append((-1, j))
        elif deletes:
            i -= 1
            pairs.append((i, -1))
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


def _joined(phrases: Iterable[Phrase], normalise: str) -> str:
    return " ".join(word.compared for word in spoken_words(phrases, normalise))


def meeteval_rates(
    reference: Sequence[Phrase],
    hypothesis: Sequence[Phrase],
    collar: float,
    normalise: str,
) -> WordRates:
    """Compute the rates of one recording by meeteval.

    ORC-WER and DI-cpWER are found by its greedy search, because the time of an exact
    search is exponential in the number of speakers. Rates that meeteval refuses to
    compute for many speakers (more than 10 or 20) are missing.
    """
    try:
        from meeteval import io, wer  # noqa: PLC0415 - optional
    except ImportError as error:
        problem = (
            "WER, cpWER, tcpWER, ORC-WER and DI-cpWER need meeteval: pip install "
            "'sms-diar[words]' (with a C++ compiler); WDER works without it"
        )
        raise MissingExtraError(problem) from error
    # The logger of meeteval repeats its warnings for each rate.
    logging.getLogger("preprocess").setLevel(logging.ERROR)
    sides, streams = [], []
    for phrases in (reference, hypothesis):
        lines = [
            {
                "speaker": phrase.speaker or "unknown",
                "start_time": Decimal(str(phrase.start)),  # as meeteval reads files
                "end_time": Decimal(str(phrase.end)),
                "words": _joined([phrase], normalise),
            }
            for phrase in phrases
        ]
        sides.append(io.SegLST(lines))
        streams.append({"": _joined(phrases, normalise)})
    unsorted = {"reference_sort": False, "hypothesis_sort": False}
    time_constrained = wer.time_constrained_minimum_permutation_word_error_rate
    functions = {
        # With a single stream on each side, cpWER is WER.
        "wer": lambda *_: wer.cp_word_error_rate(*streams, **unsorted),
        "cpwer": wer.cp_word_error_rate,
        "tcpwer": partial(time_constrained, collar=Decimal(str(collar))),
        "orcwer": wer.greedy_orc_word_error_rate,
        "dicpwer": wer.greedy_di_cp_word_error_rate,
    }
    rates = {}
    for name, function in functions.items():
        with suppress(RuntimeError):  # by which meeteval refuses many speakers
            rate = function(*sides)
            fields = (int(getattr(rate, field)) for field in WordRate._fields)
            rates[name] = WordRate(*fields)
    return rates
