"""What came out of clustering each session, and a table of it for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sms_diar.report.tables import Table


@dataclass(frozen=True)
class SessionSummary:
    """What came out of clustering one session.

    Parameters
    ----------
    session : str
        Recording, or "all" when recordings were clustered together.
    n_segments, n_speakers : int
        Segments and speakers found.
    k : int or None
        Neighbours used; fewer than asked for in short sessions. None for methods
        that do not have any.
    n_steps : int
        Moves of single points, or whatever else the method counts.
    converged : bool
        Whether it came to rest.
    row_weight, weight, log_joint : float or None
        What `SpeakerEvidenceMeanShift` found out; None for other methods.
    """

    session: str
    n_segments: int
    n_speakers: int
    k: int | None
    n_steps: int
    converged: bool
    row_weight: float | None = None
    weight: float | None = None
    log_joint: float | None = None


def session_table(sessions: Sequence[SessionSummary], head: str = "session") -> str:
    """Lay out what came out of each session.

    Parameters
    ----------
    sessions : sequence of SessionSummary
        A row for each; of several, a line below tells the mean.
    head : str, default="session"
        What a session is called.
    """
    rows = tuple(
        (
            one.session,
            str(one.n_segments),
            str(one.n_speakers),
            "-" if one.k is None else str(one.k),
        )
        for one in sessions
    )
    table = Table((head, "segments", "speakers", "k"), rows).plain()
    if len(rows) < 2:
        return table.rstrip()
    mean = sum(one.n_speakers for one in sessions) / len(sessions)
    return f"{table}{len(rows)} {head}s, {mean:.2f} speakers on average"
