"""Hard sessions: pieces, noise and band."""

import numpy as np
import pytest
import soundfile

from benchmarks.compare.audio import Disturbance, write_disturbed
from sms_diar.errors import InvalidParameterError
from sms_diar.io.audio.files import AudioFile
from sms_diar.io.kaldi.data_dir import DataDir

RATE = 8000


def tone(hertz, seconds=1.0):
    return 0.1 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)


def power(signal):
    return float(np.mean(signal**2))


@pytest.fixture
def data(tmp_path):
    """Two recordings of a 1 kHz tone: 3.3 s and 1.9 s."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name, seconds in (("a", 3.3), ("b", 1.9)):
        soundfile.write(folder / f"{name}.wav", tone(1000.0, seconds), RATE)
    (folder / "wav.scp").write_text("a a.wav\nb b.wav\n")
    (folder / "segments").write_text("a-1 a 0.0 3.0\nb-1 b 0.0 1.5\n")
    (folder / "utt2spk").write_text("a-1 anna\nb-1 bert\n")
    return DataDir(folder)


def test_recordings_are_cut_into_pieces_of_one_length(data, tmp_path):
    # 3.3 s hold three pieces of 1 s, of which two are wanted at most; 1.9 s hold one.
    made = write_disturbed(data, tmp_path / "new", Disturbance(1.0), most=2, seed=1)
    assert {name: (s.start, s.end) for name, s in made.segments.items()} == {
        "a-000": (0.0, 1.0),
        "a-001": (1.0, 2.0),
        "b-000": (0.0, 1.0),
    }
    assert dict(made.utt2spk) == {"a-000": "anna", "a-001": "anna", "b-000": "bert"}
    with AudioFile(made.wav_path("a")) as audio:
        assert audio.n_samples == 2 * RATE
        np.testing.assert_allclose(
            audio.read(0, RATE), tone(1000.0), rtol=0.0, atol=2 / 32768
        )


def test_noise_is_as_far_below_the_piece_as_asked():
    # 10 dB below is a tenth of the power.
    piece = tone(1000.0)
    noisy = Disturbance(1.0, share=1.0, snr_db=10.0).apply(
        piece, RATE, np.random.default_rng(0)
    )
    assert power(noisy - piece) / power(piece) == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize(
    ("hertz", "low", "high"), [(100.0, 0.0, 0.01), (1000.0, 0.97, 1.03)]
)
def test_a_telephone_passes_only_its_band(hertz, low, high):
    band = Disturbance(1.0, share=1.0, band=True)
    passed = band.apply(tone(hertz), RATE, np.random.default_rng(0))
    assert low <= power(passed) / power(tone(hertz)) <= high


def test_a_share_of_the_pieces_is_disturbed(data, tmp_path):
    noisy = Disturbance(0.1, share=0.5, snr_db=0.0)
    made = write_disturbed(data, tmp_path / "new", noisy, most=40, seed=1)
    with AudioFile(made.wav_path("a")) as audio:
        pieces = audio.read(0, 33 * 800).reshape(33, 800)
    # A piece has a whole number of periods, so undisturbed ones are all alike.
    changed = np.abs(pieces - tone(1000.0, 0.1)).max(axis=1) > 1e-3
    assert 8 <= changed.sum() <= 25
    again = write_disturbed(data, tmp_path / "again", noisy, most=40, seed=1)
    assert again.wav_path("a").read_bytes() == made.wav_path("a").read_bytes()


def test_a_wrong_share_is_refused():
    with pytest.raises(InvalidParameterError, match=r"share must .* 1\.5"):
        Disturbance(1.0, share=1.5)
