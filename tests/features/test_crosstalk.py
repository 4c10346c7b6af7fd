"""Cross-talk between the channels of simulated conversations."""

from collections import defaultdict

import numpy as np
import pytest
import soundfile
from scipy.signal import lfilter

from sms_diar._random import named_generator
from sms_diar.features.crosstalk import (
    find_crosstalk,
    leaked_frames,
    without_crosstalk,
)
from sms_diar.features.mono import ArraySamples
from sms_diar.synthetic.voices import Voice
from sms_diar.types import Segment

RATE = 8000
SECONDS = 60


def marked(spans, n):
    """Samples in spans, as a mask."""
    mask = np.zeros(n, dtype=bool)
    for start, end in spans:
        mask[round(start * RATE) : round(end * RATE)] = True
    return mask


def conversation(phrases, rng, overlap=0.2):
    """Two rows of samples, one per speaker; every fifth turn begins too early."""
    sides = np.zeros((2, SECONDS * RATE))
    at, who = RATE // 2, 0
    while True:
        phrase = phrases(who)
        if at + len(phrase) > sides.shape[1]:
            return sides
        sides[who, at : at + len(phrase)] += phrase
        pause = rng.uniform(0.2, 0.8)
        pause = -rng.uniform(0.3, 0.8) if rng.random() < overlap else pause
        at += max(len(phrase) + round(pause * RATE), 0)
        who = 1 - who


def recorded(sides, rng, leak, *, delay=0.0, gains=(1.0, 0.4)):
    """Channels with noise of -70 dB and the other side, filtered, at `leak` dB."""
    channels = []
    for channel, gain in enumerate(gains):
        other = sides[1 - channel]
        n_late = round(delay * RATE)
        echo = np.concatenate((np.zeros(n_late), other))[: len(other)]
        echo = lfilter([1.0, -0.5], [1.0, -0.3], echo)
        echo *= np.sqrt((other**2).sum() / (echo**2).sum()) * 10 ** (leak / 20)
        noise = 10 ** (-70 / 20) * rng.standard_normal(len(other))
        channels.append(gain * (sides[channel] + echo + noise))
    return [ArraySamples(channel, RATE) for channel in channels]


def spoken(side):
    """Mask of samples within 30 dB of the speech level, over 50 ms."""
    power = lfilter(np.ones(400) / 400, 1.0, side**2)
    return np.roll(power > 1e-3 * np.percentile(power, 95), -200)


def rates(sides, channels, delay=0.0):
    """Share of leaked speech that is found, and of the speaker's own that is lost."""
    found, lost = [], []
    n, late = sides.shape[1], round(delay * RATE)
    for channel, spans in enumerate(find_crosstalk(channels)):
        is_leaked = marked(spans, n)
        own, other = spoken(sides[channel]), np.roll(spoken(sides[1 - channel]), late)
        found.append(is_leaked[other & ~own].mean())
        lost.append(is_leaked[own].mean())
    return min(found), max(lost)


def artificial(seed):
    rng = named_generator(seed, "crosstalk")
    voices = [Voice.draw(rng) for _ in range(2)]

    def phrases(who):
        parts = []
        for _ in range(rng.integers(3, 9)):  # syllables of different levels
            part = voices[who].speak(rng.uniform(0.15, 0.35), rng, rate=RATE)
            parts += [10 ** rng.uniform(-0.6, 0.0) * part, np.zeros(rng.integers(800))]
        phrase = np.concatenate(parts)
        return 0.1 * phrase / np.sqrt((phrase**2).mean())

    return conversation(phrases, rng), rng


@pytest.mark.parametrize("seed", range(6))
def test_without_leakage_nothing_is_found(seed):
    sides, rng = artificial(seed)
    for gains in ((1.0, 1.0), (1.0, 0.1)):
        channels = recorded(sides, rng, -200.0, gains=gains)
        assert find_crosstalk(channels) == [[], []]


@pytest.mark.parametrize("delay", [0.0, 0.1])
@pytest.mark.parametrize("leak", [-10.0, -20.0, -30.0])
def test_leaked_speech_is_found_and_own_speech_is_not(leak, delay):
    for seed in range(2):
        sides, rng = artificial(seed)
        found, lost = rates(sides, recorded(sides, rng, leak, delay=delay), delay)
        assert found > 0.8
        assert lost < 0.06


def test_gains_do_not_matter():
    sides, rng = artificial(3)
    first, second = recorded(sides, rng, -15.0)
    loud = ArraySamples(10.0 * second.read(0, second.n_samples), RATE)
    before, after = (find_crosstalk([first, c]) for c in (second, loud))
    for spans, others in zip(before, after, strict=True):
        same = marked(spans, SECONDS * RATE) == marked(others, SECONDS * RATE)
        assert same.mean() > 0.99


def test_a_third_channel_gets_its_cross_talk_too():
    sides, rng = artificial(1)
    channels = recorded(sides, rng, -15.0)
    noise = ArraySamples(1e-4 * rng.standard_normal(SECONDS * RATE), RATE)
    before = find_crosstalk(channels)
    assert find_crosstalk([*channels, noise])[:2] == before


@pytest.mark.parametrize("n", [1, 150, 8000])
def test_odd_channels_have_no_cross_talk(n):
    noise = ArraySamples(0.1 * np.random.default_rng(0).standard_normal(n), RATE)
    silent = ArraySamples(np.zeros(n), RATE)
    assert find_crosstalk([noise]) == [[]]
    for pair in ([noise, noise], [noise, silent], [silent, silent]):
        assert find_crosstalk(pair) == [[], []]


def test_energies_must_rise_and_fall_together():
    # In the second half the other channel is 5 nats louder and this one 5 nats fainter;
    # this one follows the other, or rises and falls on its own.
    rng = np.random.default_rng(0)
    other, own = 20.0 + rng.normal(size=(2, 2000)).repeat(5, axis=1)
    half = np.arange(len(own)) < len(own) // 2
    follows = np.where(half, own, other - 5.0)
    follows_not = np.where(half, own, own - 5.0)
    other = np.where(half, other - 5.0, other)
    mask = leaked_frames(follows, other)
    assert mask[~half].mean() > 0.9
    assert mask[half].mean() < 0.01
    assert not leaked_frames(follows_not, other).any()


def test_speech_loses_what_is_cross_talk():
    speech = [Segment("a", 1.0, 3.0), Segment("a", 4.0, 6.0)]
    remaining, share = without_crosstalk(speech, [(0.0, 0.5), (2.5, 4.5), (5.0, 5.5)])
    # Of 4 s, 0.5 + 0.5 + 0.5 are cross-talk.
    assert remaining == [
        Segment("a", 1.0, 2.5),
        Segment("a", 4.5, 5.0),
        Segment("a", 5.5, 6.0),
    ]
    assert share == pytest.approx(1.5 / 4.0)
    assert without_crosstalk(speech, []) == (speech, 0.0)
    assert without_crosstalk(speech, [(0.0, 9.0)]) == ([], 1.0)
    assert without_crosstalk([], [(0.0, 9.0)]) == ([], 0.0)


@pytest.mark.corpus
def test_real_speech_loses_little_and_leakage_most(corpus_data):
    folder = corpus_data / "libri251-8k"
    tables = {name: (folder / name).read_text() for name in ("utt2spk", "wav.scp")}
    speakers, files = (
        dict(line.split() for line in table.splitlines()) for table in tables.values()
    )
    spoken_by = defaultdict(list)
    for line in (folder / "segments").read_text().splitlines():
        name, recording, start, end = line.split()
        spoken_by[speakers[name]].append((files[recording], float(start), float(end)))
    rng = np.random.default_rng(5)
    pair = rng.choice(sorted(spoken_by), 2, replace=False)

    def phrase(who):
        choices = spoken_by[pair[who]]
        file, start, end = choices[rng.integers(len(choices))]
        first, last = round(start * RATE), round(end * RATE)
        return soundfile.read(folder / file, start=first, stop=last)[0]

    sides = conversation(phrase, rng)
    sides *= 0.05 / np.sqrt((sides[sides != 0.0] ** 2).mean())
    assert find_crosstalk(recorded(sides, rng, -200.0)) == [[], []]
    for leak in (-10.0, -20.0, -30.0):
        found, lost = rates(sides, recorded(sides, rng, leak))
        assert found > 0.8
        assert lost < 0.06
