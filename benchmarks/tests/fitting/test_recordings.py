"""Table of the constants between clusters and turns."""

import numpy as np
import pytest

from benchmarks.fitting import recordings
from benchmarks.fitting.recordings import N_CHANGES, Clustered, turns_table
from sms_diar.pipeline.diarize import voices
from sms_diar.types import Segment, Turn


def test_constants_are_halved_and_doubled_and_restored(monkeypatch):
    seen = []

    def one_speaker_per_missed_alike(name, **_):
        seen.append((voices.ALIKE, voices.FEW))
        found = "b" if voices.ALIKE > 1.0 else "a"
        return [
            Turn(Segment(name, 0.0, 4.0), "a"),
            Turn(Segment(name, 4.0, 8.0), found),
        ]

    monkeypatch.setattr(voices, "turns_of_voices", one_speaker_per_missed_alike)
    reference = [Turn(Segment("r", 0.0, 8.0), "x")]
    reports = []
    table = turns_table(
        [Clustered("AMI", reference, ("r",), {})], lambda: reports.append(1)
    )
    assert len(reports) == N_CHANGES == len(table.rows) - 1
    rows = {row[:2]: row[2:] for row in table.rows}
    assert rows["as shipped", ""] == ("0.00%", "1", "1")
    # With two speakers, half of the time is wrong.
    wrong = rows["without merging of split clusters", ""]
    assert float(wrong[0].rstrip("%")) == pytest.approx(50.0, abs=1.0)
    assert wrong[1:] == ("0", "1")
    assert (np.inf, voices.FEW) in seen
    assert (voices.ALIKE, 2 * voices.FEW) in seen
    assert set(recordings.turn_constants()) == {"ALIKE", "FEW", "MIN_SOLO_SHARE"}
