"""Development sessions that weights are learnt from."""

import numpy as np
import pytest

from benchmarks.compare.settings import Config
from benchmarks.compare.vectors import prepare_stand_in
from benchmarks.fitting.merging_sessions import (
    MAX_ROWS,
    MEETING,
    crowd_sessions,
    development_sessions,
    meeting_sessions,
)
from sms_diar.experiment.config import load_config
from sms_diar.io.embeddings.files import write_embeddings
from sms_diar.io.kaldi.tables import write_segments
from sms_diar.io.turns.rttm import write_rttm
from sms_diar.types import EmbeddingSet, Segment, Turn

STAND_INS = (
    'groups=["untrained", "doubled", "changing", "isotropic", "windows", "lengths"]',
    "untrained.stand_in=[1, 3]",
    'untrained.laws=["all"]',
    "untrained.isotropic=[2, 200]",
    "timed.stand_in=1",
    "timed.minutes=[1, 30]",
    "timed.speakers=[2]",
    "timed.runs=1",
)


@pytest.fixture
def drawn(root, tmp_path):
    conf = root / "benchmarks" / "compare" / "conf.toml"
    config = load_config(Config, conf, (), STAND_INS)
    world = {"dim": 16, "eer": 0.05}
    catalogue = prepare_stand_in(world=world, folder=str(tmp_path), seed=1)
    return list(development_sessions(config, catalogue, runs=3))


def test_three_runs_of_segments_and_all_windows_are_drawn(drawn):
    untimed = [one for one in drawn if one.segments is None]
    # Two numbers of speakers and one of changing voices; of each of three isotropic
    # worlds two speakers, and 200 with four segments.
    assert [one.name[-2:] for one in untimed] == ["/0", "/1", "/2"] * (3 + 3 * 2)
    groups = {one.group: one.extractor for one in untimed}
    crowd = {"isotropic, many"}
    assert set(groups) == {"vectors even", "voice changes", "isotropic"} | crowd
    assert groups["isotropic"] == "isotropic"
    timed = [one for one in drawn if one.segments is not None]
    assert timed
    assert all(len(one.segments) == len(one.X) == len(one.speakers) for one in timed)
    assert len({one.name for one in drawn}) == len(drawn)


def test_what_is_doubled_repeated_or_long_is_left_out(drawn):
    names = " ".join(one.name for one in drawn)
    assert " x 10" not in names
    assert "half" not in names
    assert "1 min, 2 spk/0" in names
    assert "30 min" not in names  # 2,400 windows
    assert "200 spk x 12" not in names
    assert max(len(one.X) for one in drawn) <= MAX_ROWS


def test_a_meeting_is_thinned_and_halved(tmp_path):
    n = 36
    ids = tuple(f"w{i:02d}" for i in range(n))
    X = np.arange(2.0 * n).reshape(n, 2)
    write_embeddings(tmp_path / "xvectors.ark", EmbeddingSet(ids, X))
    windows = {name: Segment("m", float(i), i + 1.0) for i, name in enumerate(ids)}
    write_segments(tmp_path / "segments", windows)
    write_rttm(
        tmp_path / "ref.rttm",
        [Turn(Segment("m", 0.0, 18.0), "A"), Turn(Segment("m", 18.0, 36.0), "B")],
    )
    cuts = {one.name: one for one in meeting_sessions(tmp_path, (1, 3, 6))}
    # All, every third at three phases and every sixth at six, whole and in halves.
    assert len(cuts) == 3 * (1 + 3 + 6)
    assert cuts["meeting 1 0 0"].group == "meeting, all windows"
    assert {one.extractor for one in cuts.values()} == {MEETING}
    np.testing.assert_allclose(cuts["meeting 3 1 0"].X, X[1::3])
    np.testing.assert_allclose(cuts["meeting 6 5 2"].X, X[[23, 29, 35]])
    assert set(cuts["meeting 3 0 1"].speakers) == {"A"}
    assert set(cuts["meeting 3 0 2"].speakers) == {"B"}
    assert cuts["meeting 6 5 2"].segments[0] == windows["w23"]


def test_crowds_have_few_segments_of_many_speakers(root):
    config = load_config(Config, root / "benchmarks" / "compare" / "conf.toml")
    world = {"isotropic": {"dim": 4, "separation": 1.0}}
    drawn = list(crowd_sessions(config, {"crowd-campplus-raw": world}, runs=2))
    assert len(drawn) == 3 * 4 * 2  # other sources are missing
    assert {one.extractor for one in drawn} == {"CAM++"}
    by_name = {
        one.name: np.unique(one.speakers, return_counts=True)[1] for one in drawn
    }
    assert by_name["crowd-campplus-raw 200 x 3/1"].tolist() == [3] * 200
    zipf = by_name["crowd-campplus-raw 30 x zipf/0"]
    assert len(zipf) == 30
    assert np.median(zipf) == 2
    assert zipf.max() > 20
