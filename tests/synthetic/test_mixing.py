"""Mixing in blocks: the same sum, to the last bit, in bounded memory."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.synthetic.rendering import mix


def whole(parts, n_samples):
    total = np.zeros(n_samples)
    for start, samples in parts:
        end = min(start + len(samples), n_samples)
        if end > start:
            total[start:end] += samples[: end - start]
    return total


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 120)), max_size=12),
    st.integers(1, 250),
    st.integers(1, 300),
    st.integers(0, 99),
)
def test_blocks_add_up_to_the_whole_bit_for_bit(places, n_samples, block, seed):
    rng = np.random.default_rng(seed)
    parts = [(start, rng.standard_normal(length)) for start, length in sorted(places)]
    got = list(mix(parts, n_samples, block=block))
    assert [len(part) for part in got[:-1]] == [block] * (len(got) - 1)
    assert np.array_equal(np.concatenate(got), whole(parts, n_samples))


def test_nothing_but_silence_is_silence():
    assert np.concatenate(list(mix([], 5, block=2))).tolist() == [0.0] * 5


def test_blocks_come_before_later_parts_are_read():
    taken = []

    def parts():
        for number in range(100):
            taken.append(number)
            yield 1000 * number, np.ones(1500)

    blocks = mix(parts(), 100_000, block=2000)
    for number in range(10):
        next(blocks)
        assert max(taken) <= 2 * number + 2
