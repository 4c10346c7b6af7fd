"""Speech handed out: nothing recurs before all was used."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.synthetic.conversation import Passage, Supply


def passages(*lengths):
    return [Passage(f"p{i}", "rec", 0, length) for i, length in enumerate(lengths)]


def supply(*lengths, shortest=10):
    return Supply(passages(*lengths), shortest, np.random.default_rng(0))


def test_a_passage_is_cut_and_goes_on_where_it_was_cut():
    one = supply(100)
    first, second = one.take(40), one.take(40)
    assert [(s.offset, s.length) for s in first] == [(0, 40)]
    # 60 are left, of which 40 are wanted; 20 stay.
    assert [(s.offset, s.length) for s in second] == [(40, 40)]
    assert [(s.offset, s.length, s.is_repeated) for s in one.take(20)] == [
        (80, 20, False)
    ]


def test_no_scrap_is_cut_off_or_left_over():
    # 45 of 50 would leave 5, less than 10: all 50 are taken.
    assert [s.length for s in supply(50).take(45)] == [50]
    # 55 of 50 would need 5 of the next one: 50 will do.
    assert [s.length for s in supply(50, 50).take(55)] == [50]
    assert [s.length for s in supply(50, 50).take(60)] == [50, 10]


def test_whole_passages_can_be_asked_for():
    taken = supply(50, 70, 90).take(float("inf"), 2)
    assert [s.length for s in taken] == [s.passage.length for s in taken]
    assert len(taken) == 2


def test_speech_recurs_when_all_was_used_and_not_before():
    one = supply(50, 70)
    taken = one.take(200)
    assert {s.passage.id for s in taken[:2]} == {"p0", "p1"}
    assert all(s.is_repeated for s in taken[2:])
    assert sum(s.length for s in taken if not s.is_repeated) == 120


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=6),
    st.lists(st.integers(1, 90), min_size=1, max_size=20),
    st.integers(1, 20),
)
def test_every_grain_is_used_once_before_any_is_used_twice(lengths, wants, shortest):
    one = Supply(passages(*lengths), shortest, np.random.default_rng(1))
    uses = {f"p{i}": np.zeros(length, int) for i, length in enumerate(lengths)}
    for want in wants:
        for stretch in one.take(want):
            used = uses[stretch.passage.id]
            used[stretch.offset : stretch.offset + stretch.length] += 1
            everything = np.concatenate(list(uses.values()))
            assert everything.max() - everything.min() <= 1
            assert stretch.is_repeated == (everything.max() > 1)
