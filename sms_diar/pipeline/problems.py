"""Problems with recordings and their segments, as JSON holds them."""

from __future__ import annotations

from collections.abc import Sequence

from sms_diar.types import Problem


def problem_records(problems: Sequence[Problem]) -> list[dict[str, str | None]]:
    """Plain values of problems: which recording, which segment, and what."""
    return [
        {
            "recording": problem.recording,
            "segment": problem.segment,
            "text": problem.text,
        }
        for problem in problems
    ]
