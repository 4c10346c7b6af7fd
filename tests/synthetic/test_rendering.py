"""The speech of a plan: where it is, how loud, and in which room."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.synthetic import rendering as rendering_module
from sms_diar.synthetic.conversation import Conversation, Passage, Placement
from sms_diar.synthetic.rendering import Rendering, mix

STEP = 8  # samples of a millisecond at 8 kHz
LONG = Passage("p", "rec", 0, 1000)


def constant(passage, first, last):
    assert 0 <= first < last <= passage.length * STEP
    return np.ones(last - first)


def ramp(passage, first, last):
    return np.arange(first, last, dtype=np.float64)


def rendering(*places, read=constant):
    placements = tuple(
        Placement(speaker, LONG, offset, length, start, False)
        for speaker, offset, length, start in places
    )
    speakers = {place[0]: 0.5 for place in places}
    return Rendering(Conversation("r", 1000, 1, placements, speakers), STEP, read)


def heard(made, **options):
    gains = options.pop("gains", dict.fromkeys(made.conversation.shares, 1.0))
    parts = made.parts(gains, **options)
    return np.concatenate(list(mix(parts, made.n_samples, block=500)))


def test_speech_is_where_the_plan_says_and_nowhere_else():
    signal = heard(rendering(("a", 0, 100, 50), ("b", 0, 200, 500)))
    assert np.flatnonzero(signal).tolist() == [
        *range(50 * STEP, 150 * STEP),
        *range(500 * STEP, 700 * STEP),
    ]
    # Faded over 5 ms at both ends, as it is in between.
    assert signal[50 * STEP] < 0.001
    assert (signal[55 * STEP : 145 * STEP] == 1.0).all()


def test_the_part_of_a_passage_is_the_one_that_was_planned():
    signal = heard(rendering(("a", 30, 100, 50), read=ramp))
    # 20 ms into the placement is 50 ms into the passage.
    assert signal[70 * STEP] == 50 * STEP


def test_overlapping_speech_adds_up_with_gains():
    made = rendering(("a", 0, 100, 0), ("b", 0, 100, 50))
    signal = heard(made, gains={"a": 0.5, "b": 0.25})
    assert signal[25 * STEP] == 0.5
    assert signal[75 * STEP] == 0.75
    assert signal[125 * STEP] == 0.25


def test_energy_is_that_of_what_is_heard():
    made = rendering(("a", 0, 100, 0), ("b", 0, 100, 200), ("a", 0, 50, 400))
    signal = heard(made)
    energies = made.energies()
    b = signal[200 * STEP : 300 * STEP]
    assert energies["b"].n_samples == len(b)
    assert energies["b"].level == pytest.approx(np.sqrt(np.mean(b**2)))
    assert energies["a"].squares == pytest.approx(np.sum(signal**2) - np.sum(b**2))


def test_a_room_is_a_convolution_that_does_not_delay():
    made = rendering(("a", 0, 100, 50), ("b", 0, 100, 300))
    dry = heard(made)
    response = {"a": np.array([1.0, 0.0, 0.5]), "b": np.array([1.0, 0.25])}
    wet = heard(made, responses=response)
    want = np.convolve(np.where(np.arange(8000) < 1600, dry, 0), response["a"])[:8000]
    want += np.convolve(np.where(np.arange(8000) < 1600, 0, dry), response["b"])[:8000]
    np.testing.assert_allclose(wet, want, atol=1e-12)


def test_long_speech_is_read_in_parts(monkeypatch):
    made = rendering(("a", 0, 300, 50), ("b", 0, 400, 100), read=ramp)
    response = dict.fromkeys("ab", np.array([1.0, 0.5]))
    before = heard(made), heard(made, responses=response), made.energies()
    monkeypatch.setattr(rendering_module, "_PART", 1000)
    assert np.array_equal(heard(made), before[0])
    np.testing.assert_allclose(heard(made, responses=response), before[1], atol=1e-9)
    assert made.energies()["a"].squares == pytest.approx(before[2]["a"].squares)


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
