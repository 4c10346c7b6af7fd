"""What came out of clustering each session, and a table of it for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sms_diar.report.tables import Table

_SURE = 0.7  # probability below which the number, or the labels, are in doubt
_WORTH_SAYING = 0.05  # probability from which another number is named
_THIN = 20  # segments below which one speaker is thin evidence


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
    count_posterior : mapping from int to float, or None
        Probability of each number of speakers, for methods that tell.
    confidence : float or None
        Mean probability that a segment has the right label, likewise.
    seconds : float or None
        Speech that the segments hold, where times are known.
    number_given : bool
        Whether the number of speakers was asked for.
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
    count_posterior: Mapping[int, float] | None = None
    confidence: float | None = None
    seconds: float | None = None
    number_given: bool = False

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why the result may be wrong, a sentence each; empty where it is not fragile.

        A number of speakers that was asked for is none of our doubts.
        """
        found = []
        posterior = self.count_posterior or {}
        chance = posterior.get(self.n_speakers)
        if chance is not None and chance < _SURE:
            others = [n for n in posterior if n != self.n_speakers]
            likely = [n for n in others if posterior[n] > _WORTH_SAYING]
            rivals = sorted(likely, key=lambda n: -posterior[n])[:3]
            said = ", ".join(f"{n} ({posterior[n]:.0%})" for n in rivals)
            found.append(
                f"{self.n_speakers} speakers are {chance:.0%} likely"
                + (f", against {said}" if said else "")
            )
        thin = self.n_speakers == 1 and 1 < self.n_segments < _THIN
        if thin and not self.number_given:
            found.append(f"one speaker on the evidence of {self.n_segments} segments")
        # Two may well talk for less than a minute.
        usual = 2.0 + (self.seconds or 0.0) / 60.0
        if self.seconds is not None and self.n_speakers > usual:
            found.append(
                f"{self.n_speakers} speakers in {self.seconds / 60.0:.1f} minutes of "
                f"speech are many"
            )
        if self.confidence is not None and self.confidence < _SURE:
            found.append(
                f"labels are thought right in {self.confidence:.0%} of the segments"
            )
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON, whose keys are texts."""
        words = asdict(self)
        if self.count_posterior is not None:
            words["count_posterior"] = {
                str(number): chance for number, chance in self.count_posterior.items()
            }
        return words


def session_table(sessions: Sequence[SessionSummary], head: str = "session") -> str:
    """Lay out the results of all sessions; `k` is a column if any session has it.

    Parameters
    ----------
    sessions : sequence of SessionSummary
        A row for each; of several, a line below tells the mean.
    head : str, default="session"
        What a session is called.
    """
    columns: tuple[str, ...] = (head, "segments", "speakers")
    rows: tuple[tuple[str, ...], ...] = tuple(
        (s.session, str(s.n_segments), str(s.n_speakers)) for s in sessions
    )
    if any(session.k is not None for session in sessions):
        columns += ("k",)
        counts = ["-" if session.k is None else str(session.k) for session in sessions]
        rows = tuple((*row, k) for row, k in zip(rows, counts, strict=True))
    table = Table(columns, rows).plain()
    if len(rows) < 2:
        return table.rstrip()
    mean = sum(one.n_speakers for one in sessions) / len(sessions)
    return f"{table}{len(rows)} {head}s, {mean:.2f} speakers on average"
