"""Readable script: a line per paragraph, ``[00:01:05] ann: words``.

Lines are not wrapped, because editors do it. Consecutive phrases of a speaker are one
paragraph unless a pause separates them. A line of Markdown is
``**ann** (00:01:05): words``, in which signs of Markdown are escaped, so that words and
names are neither links nor HTML; words cannot begin a list or a heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sms_diar.io.transcripts._words import UNKNOWN
from sms_diar.io.transcripts.subtitles import clock
from sms_diar.timeline.transcript import Phrase

PARAGRAPH_PAUSE = 3.0
"""Pause of a speaker in seconds that begins a paragraph, as a new thought does."""

_SPECIAL = re.compile(r"[\\`*_\[\]<>&~|$@]|:(?=//)|(?<=[wW]{3})\.")


def text(phrases: Sequence[Phrase]) -> str:
    """Format phrases of one recording."""
    return "\n".join(
        f"[{time}] {speaker}{': ' if speaker else ''}{words}\n"
        for time, speaker, words in _paragraphs(phrases)
    )


def markdown_text(phrases: Sequence[Phrase]) -> str:
    """Format phrases of one recording as Markdown."""
    return "\n".join(
        f"{f'**{_escaped(speaker)}** ' if speaker else ''}({time}): {_escaped(words)}\n"
        for time, speaker, words in _paragraphs(phrases)
    )


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def _paragraphs(phrases: Sequence[Phrase]) -> Iterator[tuple[str, str, str]]:
    """Yield time, speaker (empty if all are unknown) and text of each paragraph."""
    spoken = [phrase for phrase in phrases if phrase.words]
    has_speakers = any(phrase.speaker is not None for phrase in spoken)
    groups: list[list[Phrase]] = []
    for phrase in spoken:
        last = groups[-1][-1] if groups else phrase
        is_pause = phrase.start - last.end > PARAGRAPH_PAUSE
        if not groups or is_pause or last.speaker != phrase.speaker:
            groups.append([])
        groups[-1].append(phrase)
    for group in groups:
        time = clock(round(1000 * group[0].start)).partition(".")[0]
        speaker = (group[0].speaker or UNKNOWN) if has_speakers else ""
        yield time, speaker, " ".join(phrase.text for phrase in group)
