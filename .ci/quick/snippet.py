"""What a user may write; mypy reads it with the types that the wheel brings."""

from pathlib import Path

import sms_diar
from sms_diar import EmbeddingSet, Segment, Turn


def longest(path: Path) -> Turn | None:
    """The longest turn of a file."""
    turns: list[Turn] = list(sms_diar.read_rttm(path))
    return max(
        turns, key=lambda turn: turn.segment.end - turn.segment.start, default=None
    )


def seconds(segment: Segment) -> float:
    """How long a segment is."""
    return segment.end - segment.start


def ids(vectors: EmbeddingSet) -> tuple[str, ...]:
    """Names of the rows."""
    return vectors.ids


def wrong(segment: Segment) -> str:
    """An error that mypy must see: the ignored one is needed, or strict complains."""
    return segment.start  # type: ignore[return-value]
