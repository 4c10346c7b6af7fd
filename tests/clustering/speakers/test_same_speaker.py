"""Whether two groups are one speaker: nine measurements and their weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sms_diar.clustering.speakers.same_speaker import (
    GROWING,
    MEASUREMENTS,
    WEIGHTS,
    Groups,
    Members,
    Weights,
)

from sms_diar.preprocessing import scale_rows

PARTS = ("sizes", "means", "raw_means", "spreads", "raw_spreads", "links", "turns")


def session(n=20, q=3, d=5, seed=0, timed=True, n_groups=4):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(n_groups), rng.integers(n_groups, size=n)])
    n = len(labels)
    places = rng.standard_normal((n, q)) + 3.0 * labels[:, None] % 4
    directions = scale_rows(rng.standard_normal((n, d)) + labels[:, None])
    linked = np.stack([np.repeat(np.arange(n), 3), rng.integers(n, size=3 * n)], axis=1)
    touching = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    members = Members(places, directions, linked, touching if timed else None)
    return members, labels


def assert_equal_groups(one, other):
    for name in PARTS:
        a, b = getattr(one, name), getattr(other, name)
        if a is None or b is None:
            assert a is b
        else:
            np.testing.assert_allclose(a, b, atol=1e-9, err_msg=name)


def slow_measurements(members, labels, one, other):
    """The nine of two groups, pair by pair and sum by sum."""
    groups = [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]
    n = [len(rows) for rows in groups]
    free = max(sum(n) - len(n), 1)

    def spread(rows):
        return float(np.sum((rows - rows.mean(axis=0)) ** 2))

    def chance(rows, g):
        spreads = [spread(rows[own]) for own in groups]
        common = sum(spreads) / free
        return (spreads[g] + 10.0 * common) / (n[g] + 9.0) / n[g]

    def median(pairs):
        so_far = np.cumsum([weight for _, weight in pairs])
        return next(
            value
            for (value, _), reached in zip(pairs, so_far, strict=True)
            if reached >= so_far[-1] / 2.0
        )

    def apart(a, b):
        rows = members.places
        gap = rows[groups[a]].mean(axis=0) - rows[groups[b]].mean(axis=0)
        return max(float(gap @ gap) - chance(rows, a) - chance(rows, b), 1e-9)

    between = inside = 0
    for a, b in members.linked:
        if labels[a] in (one, other) and labels[b] in (one, other):
            between += int(labels[a] != labels[b])
            inside += 1
    mixture = inside * 2 * n[one] * n[other] / (n[one] + n[other]) ** 2
    noise = sum(spread(members.places[own]) for own in groups) / free
    gaps = sorted(
        (apart(a, b), np.sqrt(n[a] * n[b])) for a in range(len(n)) for b in range(a)
    )
    typical = median(gaps)
    variances = [chance(members.places, g) * n[g] for g in range(len(n))]
    usual = median(sorted(zip(variances, np.sqrt(n), strict=True)))
    raw = [members.directions[groups[g]].mean(axis=0) for g in (one, other)]
    long = [
        max(float(mean @ mean) - chance(members.directions, g), 1e-6)
        for mean, g in zip(raw, (one, other), strict=True)
    ]
    turns = 0.4
    if members.touching is not None:
        crossed = sum(
            {labels[a], labels[b]} == {one, other} for a, b in members.touching
        )
        turns = np.sqrt(crossed / min(n[one], n[other]))
    return [
        np.sqrt(between / mixture) if mixture else 0.0,
        np.log(np.sqrt(apart(one, other) * members.places.shape[1] / noise) + 0.1),
        np.log(np.sqrt(apart(one, other) / typical) + 0.01),
        np.log(min(n[one], n[other])),
        np.log(max(n[one], n[other])),
        np.clip(raw[0] @ raw[1] / np.sqrt(long[0] * long[1]), -0.5, 1.2),
        turns - 0.4,
        np.log(len(n)),
        np.log(max(variances[one], variances[other]) / usual),
    ]


def test_two_groups_measured_by_hand():
    # Rows 0 and 2 | 10, 12 and 14 on a line: means 1 and 12, squares around them 2 and
    # 8, noise 10 / (5 - 2) = 10/3. Drawn to it, the variances are (2 + 33.3) / 11 and
    # (8 + 33.3) / 12; divided by 2 and 3 rows that is what chance adds to 11 squared.
    places = np.array([[0.0], [2.0], [10.0], [12.0], [14.0]])
    directions = np.array([[1.0, 0.0]] * 2 + [[0.0, 1.0]] * 3)
    linked = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 3]])
    touching = np.array([[0, 1], [1, 2], [2, 3]])
    groups = Groups.of(
        Members(places, directions, linked, touching), np.array([0, 0, 1, 1, 1])
    )
    chance = (2.0 + 100.0 / 3) / 11 / 2 + (8.0 + 100.0 / 3) / 12 / 3
    gap = 121.0 - chance
    # One of five links crosses; in a thorough mixture 5 x 2 x 2 x 3 / 25 would.
    links = np.sqrt(1.0 / 2.4)
    found = dict(zip(MEASUREMENTS, groups.measurements(), strict=True))
    want = {
        "links": links,
        "apart": np.log(np.sqrt(gap / (10.0 / 3)) + 0.1),
        "typical": np.log(1.01),  # it is the only gap there is
        "smaller": np.log(2.0),
        "larger": np.log(3.0),
        "cosine": 0.0,  # at right angles
        "turns": np.sqrt(1.0 / 2.0) - 0.4,  # one change, by the smaller one's rows
        "crowd": np.log(2.0),
        # The second is wider, and with the root of 3 rows against that of 2 it is the
        # median of both.
        "wide": 0.0,
    }
    assert {name: found[name][0, 1] for name in want} == pytest.approx(want)
    score = sum(
        (
            getattr(WEIGHTS, name)
            + getattr(WEIGHTS, f"more_{name}", 0.0) * want["smaller"]
        )
        * value
        for name, value in want.items()
    )
    same = groups.same()
    assert same[0, 1] == pytest.approx(expit(score + WEIGHTS.constant))
    assert (np.diag(same) == 0.0).all()


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_measurements_are_those_of_slow_sums(timed, seed):
    members, labels = session(seed=seed, timed=timed)
    found = np.stack(list(Groups.of(members, labels).measurements()), axis=-1)
    for one in range(4):
        for other in range(4):
            if one != other:
                want = slow_measurements(members, labels, one, other)
                np.testing.assert_allclose(found[one, other], want, atol=1e-9)


@given(st.integers(0, 10_000), st.booleans(), st.integers(2, 6), st.data())
def test_joined_sums_are_the_sums_of_joined_labels(seed, timed, n_groups, data):
    members, labels = session(seed=seed, timed=timed, n_groups=n_groups)
    gone = data.draw(st.integers(1, n_groups - 1))
    kept = data.draw(st.integers(0, gone - 1))
    groups = Groups.of(members, labels)
    groups.join(kept, gone)
    joined = np.where(labels == gone, kept, labels)
    joined = joined - (joined > gone)
    assert len(groups) == n_groups - 1
    assert_equal_groups(groups, Groups.of(members, joined))


@given(st.integers(0, 10_000), st.permutations(range(4)))
def test_other_numbers_of_the_groups_reorder_the_probabilities(seed, order):
    members, labels = session(seed=seed)
    order = np.array(order)
    plain = Groups.of(members, labels).same()
    renamed = Groups.of(members, order[labels]).same()
    np.testing.assert_allclose(renamed[np.ix_(order, order)], plain, atol=1e-9)
    np.testing.assert_allclose(plain, plain.T, atol=1e-9)
    assert ((plain >= 0.0) & (plain <= 1.0)).all()


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_the_order_of_the_rows_does_not_matter(seed, shuffle):
    members, labels = session(seed=seed)
    order = np.random.default_rng(shuffle).permutation(len(labels))
    place = np.argsort(order)
    mixed = Members(
        members.places[order],
        members.directions[order],
        place[members.linked],
        place[members.touching],
    )
    np.testing.assert_allclose(
        Groups.of(mixed, labels[order]).same(),
        Groups.of(members, labels).same(),
        atol=1e-9,
    )


def test_nearer_groups_are_more_probably_one_speaker():
    members, labels = session(seed=1)
    far = members._replace(places=members.places + 5.0 * (labels == 3)[:, None])
    near = Groups.of(members, labels).same()[:3, 3].max()
    assert Groups.of(far, labels).same()[:3, 3].max() < near


def test_a_single_group_and_groups_of_equal_rows_are_measured():
    members, labels = session(seed=2)
    assert Groups.of(members, np.zeros_like(labels)).same().tolist() == [[0.0]]
    equal = Members(
        np.zeros((4, 2)), np.tile([1.0, 0.0], (4, 1)), np.empty((0, 2), np.int64), None
    )
    same = Groups.of(equal, np.array([0, 0, 1, 1])).same()
    assert np.isfinite(same).all()


def test_all_measurements_have_a_weight():
    more = tuple(f"more_{name}" for name in GROWING)
    assert Weights._fields == (*MEASUREMENTS, *more, "constant")
    large = {
        name: getattr(WEIGHTS, name) + np.log(20.0) * getattr(WEIGHTS, f"more_{name}")
        for name in ("links", "apart", "cosine")
    }
    # Of groups of 20, links and cosines speak for one speaker, distances against.
    assert large["links"] > 0.0
    assert large["cosine"] > 0.0
    assert large["apart"] < 0.0
    # The more groups, and the wider, the less.
    assert max(WEIGHTS.typical, WEIGHTS.crowd, WEIGHTS.wide) < 0.0


def test_joins_on_trial_leave_the_crowd_as_large_as_it_is():
    rng = np.random.default_rng(0)
    places = rng.standard_normal((12, 3))
    members = Members(places, scale_rows(places), np.empty((0, 2), np.int64), None)
    groups = Groups.of(members, np.arange(12) // 2)
    trial = groups.on_trial()
    trial.join(0, 1)
    crowd = MEASUREMENTS.index("crowd")
    assert list(trial.measurements())[crowd][0, 1] == pytest.approx(np.log(6))
    assert len(groups) == 6  # what is on trial are copies
    groups.join(0, 1)
    assert list(groups.measurements())[crowd][0, 1] == pytest.approx(np.log(5))
