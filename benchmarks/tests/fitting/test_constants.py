"""Tables of constants and ablations of the default."""

import numpy as np
import pytest

from benchmarks.fitting import constants as tables
from benchmarks.fitting.constants import (
    HEURISTICS,
    N_ABLATIONS,
    Constant,
    ablation_table,
    constants_table,
    documented_names,
    mean_k,
    merged_k,
    read_constants,
)
from benchmarks.fitting.merging import Session, changed, propose
from sms_diar.clustering.speakers import fragments, space
from sms_diar.clustering.speakers.merging import MEASUREMENTS, WEIGHTS, Clusters
from sms_diar.errors import InvalidParameterError
from sms_diar.synthetic import PldaWorld
from sms_diar.types import Segment


def sessions():
    """Two sessions of three speakers, the second of windows that overlap."""
    world = PldaWorld(dim=20, eer=0.15, mean_segments=15.0, std_segments=2.0)
    found = []
    for seed, group in enumerate(("segments", "windows")):
        drawn = world.draw_session(3, random_state=seed)
        times = [Segment("a", 0.25 * i, 0.25 * i + 1.0) for i in range(len(drawn.X))]
        segments = times if group == "windows" else None
        found.append(Session(group, group, "x", drawn.X, drawn.speakers, segments))
    return found


def test_reasons_are_docstrings_or_comments():
    text = 'A = 2\n"""Two of\nthem."""\n_B = 3  # Or three.\nlower = 4\nC = 5\n'
    assert documented_names(text) == {"A": "Two of them.", "_B": "Or three.", "C": ""}


def test_every_constant_has_its_value():
    found = {f"{one.module}.{one.name}": one for one in read_constants()}
    assert found["space.SHRINKAGE"].value == space.SHRINKAGE
    assert found["space.SHRINKAGE"].reason.startswith("Weight of equal variance")
    # Two modules have one of this name.
    assert found["fragments.NEIGHBOURS"].value == fragments.NEIGHBOURS
    assert found["space.NEIGHBOURS"].value == space.NEIGHBOURS
    assert found["merging.WEIGHTS.width"].value == WEIGHTS.width
    assert found["fragments.TRUST[1]"].value == fragments.TRUST[1]


@pytest.mark.parametrize(
    ("constant", "factor", "value"),
    [
        (Constant("space", "ROUNDS", 1, ""), 0.5, 1),
        (Constant("space", "ROUNDS", 3, ""), 2.0, 6),
        (Constant("space", "CALM", 0.5, ""), 0.5, 0.25),
    ],
)
def test_whole_numbers_stay_whole(constant, factor, value):
    owner, name, scaled = constant.scaled(factor)
    assert (owner, name, scaled) == (space, constant.name, value)
    assert type(scaled) is type(constant.value)


def test_a_doubled_weight_is_used():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((12, 4))
    clusters = Clusters.of(rows, rows, np.arange(12) % 3)
    before = clusters.log_odds()[0, 1]
    constant = Constant("merging", "WEIGHTS.constant", WEIGHTS.constant, "")
    with changed(constant.scaled(2.0)):
        added = WEIGHTS.constant
        assert clusters.log_odds()[0, 1] == pytest.approx(before + added)
    assert clusters.log_odds()[0, 1] == before


def test_merging_again_gives_the_same_k():
    own = sessions()
    assert merged_k(own, [propose(one) for one in own]) == mean_k(own)
    assert set(mean_k(own)) == {"segments", "windows"}


def test_each_heuristic_can_be_turned_off():
    for change in HEURISTICS.values():
        before = getattr(change[0], change[1])
        with changed(change):
            assert getattr(change[0], change[1]) is not before
            assert len(mean_k(sessions())) == 2


def test_a_row_has_k_of_both_changes_or_what_else_is_changed(monkeypatch):
    def only_up_to_one(_):
        if fragments.GATE > 1.0:
            raise InvalidParameterError("too large")
        return {"a": 0.25, "b": 0.75}

    monkeypatch.setattr(tables, "mean_k", only_up_to_one)
    wanted = ("GATE", "TRUST[0]")
    some = [one for one in read_constants() if one.name in wanted]
    calls = []
    table = constants_table(sessions(), some, lambda: calls.append(1))
    assert len(calls) == 2
    gate, refused = table.rows
    assert (gate[0], *gate[2:]) == ("`fragments.GATE`", "0.6", "0.5000", "not valid")
    assert refused[3:] == ("same labels", "same labels")


def test_each_part_is_removed_in_turn(monkeypatch):
    monkeypatch.setattr(tables, "GENERATIONS", 1)
    own = sessions()
    calls = []
    table = ablation_table(own, own, lambda: calls.append(1))
    assert len(calls) == len(table.rows) == N_ABLATIONS
    names = [row[0] for row in table.rows]
    assert names[0] == "nothing"
    assert set(HEURISTICS) < set(names)
    assert {f"weight of {name}" for name in (*MEASUREMENTS, "ambiguity")} < set(names)
    assert table.rows[0][3:] == ("+0.0000", "0.0000")
