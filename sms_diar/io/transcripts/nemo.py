"""Manifests of NeMo: JSON lines with "audio_filepath", "offset", "duration" and "text".

The recording is the name of the audio file without folder and suffix. The speaker is
"speaker" or "label", unless that is "infer". Words that were recognised ("pred_text")
are read if there is no "text".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from sms_diar._json import json_line
from sms_diar._text import id_of_file
from sms_diar.io.transcripts._source import Element, Source, text_phrase
from sms_diar.timeline.transcript import Phrase


def fits(source: Source) -> bool:
    """Recognise a manifest by the key of its audio files."""
    return "audio_filepath" in source.first_row


def read(source: Source) -> Iterator[Phrase]:
    """Yield the lines as phrases."""
    return map(_phrase, source.rows())


def _phrase(row: Element) -> Phrase:
    recording = id_of_file(PurePosixPath(row.recording("audio_filepath")).stem)
    texts = (row.string(key) for key in ("text", "pred_text"))
    text = next((text for text in texts if text not in ("", "-")), "")
    if row.values.get("duration") is None and not text:
        raise row.fault(
            'this line is a whole recording, without words and "duration"; if it has '
            '"rttm_filepath", specify the RTTM file'
        )
    speaker = row.name("speaker") or row.name("label")
    speaker = None if speaker == "infer" else speaker
    return text_phrase(recording, text, *row.span("offset"), speaker)


def text(phrases: Sequence[Phrase]) -> str:
    """Format phrases, with their recordings as WAV files."""
    rows = (
        {
            "audio_filepath": f"{phrase.recording}.wav",
            "offset": round(phrase.start, 9),
            "duration": round(phrase.end - phrase.start, 9),
            "text": phrase.text or "-",
            **({} if phrase.speaker is None else {"label": phrase.speaker}),
        }
        for phrase in phrases
    )
    return "".join(f"{json_line(row)}\n" for row in rows)
