"""Summaries of clustered sessions, with doubts about them, and a table for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sms_diar.report.tables import Table

_PROBABLE = 0.5  # Minimum probability of the number of speakers without a doubt.
_WORTH_NAMING = 0.05  # Minimum probability at which another number is named.
_TRUST_IN_TURNS = 0.3  # Share of the posterior that follows a change by the turns.


@dataclass(frozen=True)
class SessionSummary:
    """Result of clustering one session.

    Parameters
    ----------
    session : str
        Recording, or "all" if all recordings were clustered together.
    n_segments, n_speakers : int
        Number of segments and of speakers.
    k : int or None
        Number of neighbours, which is reduced in short sessions. None for methods
        without neighbours.
    n_steps : int
        Number of moves of single points, or of whatever else the method counts.
    converged : bool
        Whether the method converged.
    row_weight, weight, log_joint : float or None
        Estimates of `SpeakerEvidenceMeanShift`; None for other methods.
    count_posterior : mapping from int to float, or None
        Probability of each number of speakers, if the method estimates it.
    confidence : float or None
        Mean probability that the label of a segment is right, if the method
        estimates it.
    seconds : float or None
        Duration of the speech in the segments, if times are known.
    number_given : bool
        Whether the caller fixed the number of speakers.
    rival : int or None
        Number of clusters in a simple partition that separates the segments far
        better (:mod:`sms_diar.clustering.rival`); None if there is none.
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
    rival: int | None = None

    def of_turns(self, n_speakers: int) -> SessionSummary:
        """Summary of turns that may have more or fewer speakers than the clusters.

        Overlap and brief speakers can change the number after clustering. Only a part
        of the posterior then follows: of 16 development recordings with such a
        change, the number was right after it in 3, and before it in 7.

        Parameters
        ----------
        n_speakers : int
            Number of speakers in the turns.
        """
        change = n_speakers - self.n_speakers
        if change == 0:
            return self
        if self.count_posterior is None or self.number_given:
            return replace(self, n_speakers=n_speakers, count_posterior=None)
        mixed: dict[int, float] = {}
        for number, chance in self.count_posterior.items():
            moved = max(number + change, 1)
            mixed[moved] = mixed.get(moved, 0.0) + _TRUST_IN_TURNS * chance
            mixed[number] = mixed.get(number, 0.0) + (1.0 - _TRUST_IN_TURNS) * chance
        posterior = dict(sorted(mixed.items()))
        return replace(self, n_speakers=n_speakers, count_posterior=posterior)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons why the result may be wrong, one sentence each; usually empty.

        A number of speakers that the caller fixed is never doubted.
        """
        reasons = (self._doubt_by_rival(), self._doubt_about_number())
        return tuple(reason for reason in reasons if reason is not None)

    def _doubt_by_rival(self) -> str | None:
        if self.rival is None:
            return None
        fault = (
            "several speakers may share a label"
            if self.rival > self.n_speakers
            else "one speaker may have several labels"
        )
        return (
            f"average linkage separates the segments much better, into about "
            f"{self.rival} clusters: {fault}"
        )

    def _doubt_about_number(self) -> str | None:
        posterior = self.count_posterior
        if posterior is None or self.number_given:
            return None
        chance = posterior.get(self.n_speakers, 0.0)
        if chance >= _PROBABLE:
            return None
        others = [number for number in posterior if number != self.n_speakers]
        others = [number for number in others if posterior[number] > _WORTH_NAMING]
        likeliest = sorted(others, key=lambda number: -posterior[number])[:3]
        alternatives = "".join(f", {n} ({posterior[n]:.0%})" for n in likeliest)
        doubt = (
            f"the number of speakers is uncertain: "
            f"{self.n_speakers} ({chance:.0%}){alternatives}"
        )
        if likeliest and posterior[likeliest[0]] > chance:
            doubt += (
                "; the answer is the partition that was found, not the likeliest "
                "number: give the number if you know it"
            )
        return doubt

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, whose keys are strings."""
        values = asdict(self)
        if self.count_posterior is not None:
            values["count_posterior"] = {
                str(number): chance for number, chance in self.count_posterior.items()
            }
        return values


def session_table(sessions: Sequence[SessionSummary], head: str = "session") -> str:
    """Format a table with one row per session; `k` is a column if any session has it.

    Parameters
    ----------
    sessions : sequence of SessionSummary
        Rows of the table. If there are several, a last line gives the mean number
        of speakers.
    head : str, default="session"
        Title of the first column.
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
