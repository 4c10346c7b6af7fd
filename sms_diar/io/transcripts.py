"""Transcripts, which hold words: recognised so that readers of turns can name them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

STM = (
    "this is STM, a transcript (words) and not turns; write its recordings, speakers "
    "and times as RTTM or CSV"
)
TABLE = "this table is a transcript (words) and not turns: it has no column of speakers"
ALIGNED_WORDS = "a word followed by its type and speaker is a transcript, not turns"
NO_SPEAKER = (
    '"speaker" is missing, as in a transcript (words); turns need a speaker each'
)

_SPOKEN = frozenset(
    {
        "chunks",
        "results",
        "text",
        "transcript",
        "transcription",
        "utterances",
        "word",
        "words",
    }
)
"""Keys and columns in which recognisers of speech store words."""

_SECONDS = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")


def is_stm(fields: Sequence[str]) -> bool:
    """Recognise a line of STM: ``recording channel speaker start end words``.

    The third field of a CTM, at the same position, is a time.
    """
    if len(fields) < 5 or _SECONDS.fullmatch(fields[2]):
        return False
    return all(_SECONDS.fullmatch(field) for field in fields[3:5])


def names_words(names: Collection[str]) -> bool:
    """Return true if words are stored under one of these keys or columns."""
    return not _SPOKEN.isdisjoint(name.lower() for name in names)
