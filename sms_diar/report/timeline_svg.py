"""Turns as a small picture that a notebook shows: SVG, every text of it escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sms_diar.report.figures import COLOURS
from sms_diar.report.page_data import DOUBTFUL
from sms_diar.types import Turn

_WIDTH, _LEFT, _LANE = 860, 150, 22
_MOST = 4000  # turns that are drawn: a notebook keeps every one of them
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200)


def timeline_svg(
    name: str,
    turns: Sequence[Turn],
    *,
    duration: float | None = None,
    confidence: Sequence[float | None] | None = None,
) -> str:
    """Draw the turns of one recording, a lane for each speaker.

    Parameters
    ----------
    name : str
        The recording.
    turns : sequence of Turn
        Who speaks when; of more than some thousands the first are drawn.
    duration : float, optional
        Seconds; by default up to the last end.
    confidence : sequence of float or None, optional
        For each turn; those below 0.7 are pale and dashed.
    """
    sure = confidence or (None,) * len(turns)
    last = max((turn.segment.end for turn in turns), default=1.0)
    scale = (_WIDTH - _LEFT) / (duration or last)
    lanes = {s: n for n, s in enumerate(dict.fromkeys(t.speaker for t in turns))}
    height = _LANE * len(lanes) + 24
    title = f"{name}: {_count(turns, 'turn')} of {_count(lanes, 'speaker')}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="100%" style="max-width:{_WIDTH}px;display:block" role="img" '
        f'font-family="sans-serif" font-size="12" fill="currentColor">',
        f"<title>{_safe(title)}</title>",
    ]
    parts += _lanes(lanes)
    parts += _axis(duration or last, scale, height)
    for turn, one in list(zip(turns, sure, strict=True))[:_MOST]:
        parts.append(_turn(turn, one, lanes[turn.speaker], scale))
    parts.append("</svg>")
    if len(turns) > _MOST:
        parts.append(f"<p>The first {_MOST} of {len(turns)} turns.</p>")
    return "".join(parts)


def _lanes(lanes: dict[str, int]) -> list[str]:
    found = []
    for speaker, lane in lanes.items():
        top = lane * _LANE
        shown = speaker if len(speaker) <= 22 else f"{speaker[:21]}…"
        found.append(
            f'<text x="0" y="{top + 15}">{_safe(shown)}</text><rect x="{_LEFT}" '
            f'y="{top + 2}" width="{_WIDTH - _LEFT}" height="{_LANE - 4}" '
            f'fill="currentColor" opacity="0.06"/>'
        )
    return found


def _axis(duration: float, scale: float, height: int) -> list[str]:
    step = next((step for step in _STEPS if step * scale >= 60), 4 * _STEPS[-1])
    found = []
    for number in range(int(duration / step) + 1):
        at = number * step
        minutes, seconds = divmod(at, 60)
        x = _LEFT + at * scale
        if x < _WIDTH - 24:
            found.append(
                f'<text x="{x:.1f}" y="{height - 6}" opacity="0.7">'
                f"{minutes}:{seconds:02d}</text>"
            )
    return found


def _turn(turn: Turn, sure: float | None, lane: int, scale: float) -> str:
    segment = turn.segment
    colour = COLOURS[lane % len(COLOURS)]
    words = f"{turn.speaker}, {segment.start:.2f} to {segment.end:.2f} s"
    look = f'fill="{colour}"'
    if sure is not None:
        words += f", confidence {sure:.0%}"
        if sure < DOUBTFUL:
            look += f' fill-opacity="0.3" stroke="{colour}" stroke-dasharray="3 2"'
    return (
        f'<rect x="{_LEFT + segment.start * scale:.2f}" y="{lane * _LANE + 3}" '
        f'width="{max(segment.duration * scale, 0.8):.2f}" height="{_LANE - 6}" rx="2" '
        f"{look}><title>{_safe(words)}</title></rect>"
    )


def _safe(text: str) -> str:
    return escape(text.encode("utf-8", "replace").decode("utf-8"))


def _count(things: Sequence[object] | dict[str, int], word: str) -> str:
    return f"{len(things)} {word}{'s' * (len(things) != 1)}"
