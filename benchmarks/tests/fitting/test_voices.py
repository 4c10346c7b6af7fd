"""The back end of neural vectors: cuts, training, the file."""

import numpy as np
import soundfile

from benchmarks.fitting.voice_cuts import (
    CutVectors,
    cut_vectors,
    train_on_cuts,
)
from benchmarks.fitting.voices import error_rates, table, write_backend
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.model import read_model
from sms_diar.pipeline.diarize.models import load_networks
from sms_diar.scoring import backend_from_model
from sms_diar.scoring.backend_training import KIND


class Spectrum:
    """An embedder: levels of eight bands."""

    name, rate, dim, shortest, fingerprint = "toy", 16000, 8, 0.05, "2" * 16

    def embed(self, audio, segments, *, workers=1):
        rows = []
        for one in segments:
            part = audio.read(int(one.start * 16000), int(one.end * 16000))
            power = np.abs(np.fft.rfft(part, 4096)) ** 2
            rows.append(
                [np.log(band.sum() + 1e-9) for band in np.split(power[:1024], 8)]
            )
        return np.array(rows).reshape(len(segments), 8)


def drawn(rng, n_speakers, n_each):
    voices = np.repeat(rng.standard_normal((n_speakers, 12)), n_each, axis=0)
    n = len(voices)
    kinds = np.tile(["window", "long", "telephone"], n)[:n]
    return CutVectors(
        voices + 0.5 * rng.standard_normal(voices.shape),
        np.repeat([f"s{i}" for i in range(n_speakers)], n_each),
        np.array([f"u{i}" for i in range(n)]),
        kinds,
    )


def test_every_segment_is_cut_in_all_ways(tmp_path, write_tables):
    """3.2 s make two windows and 3 s; 1.8 s make one window; half a second is none."""
    noise = 0.1 * np.random.default_rng(0).standard_normal(8000 * 6)
    soundfile.write(tmp_path / "x.wav", noise, 8000)
    data = DataDir(
        write_tables(
            tmp_path / "data",
            wav__scp=[f"x {tmp_path / 'x.wav'}"],
            segments=["a x 0.0 3.2", "b x 3.2 5.0", "c x 5.0 5.5"],
            utt2spk=["a ann", "b bob", "c bob"],
        )
    )
    found = cut_vectors(data, Spectrum())
    cuts = sorted(zip(found.utterances, found.kinds, strict=True))
    both = ("short", "telephone", "whole", "window")
    assert cuts == [
        *(("a", kind) for kind in ("long", *both, "window")),
        *(("b", kind) for kind in both),
    ]
    assert set(zip(found.utterances, found.speakers, strict=True)) == {
        ("a", "ann"),
        ("b", "bob"),
    }
    again = cut_vectors(data, Spectrum())
    np.testing.assert_array_equal(found.vectors, again.vectors)


def test_the_back_end_survives_its_file(tmp_path):
    rng = np.random.default_rng(0)
    backend = train_on_cuts([drawn(rng, 20, 9), drawn(rng, 20, 9)], "3" * 16)
    write_backend(tmp_path / "b.npz", backend)
    again = backend_from_model(read_model(tmp_path / "b.npz", KIND))
    other = drawn(rng, 10, 9)
    assert again.extractor == "3" * 16
    np.testing.assert_allclose(
        again.score_matrix(other.vectors),
        backend.score_matrix(other.vectors),
        atol=1e-3,
    )
    rates = error_rates(other, again)
    assert set(rates) == {"1.5 s", "3 s", "telephone"}
    assert rates["1.5 s"]["PLDA"] < 15.0
    assert "| other |" in table({"other": rates})


def test_the_back_end_that_ships_is_that_of_the_network(stored_network):
    for name in ("campplus", "segmentation"):
        stored_network(name)
    networks = load_networks()
    assert networks.backend is not None
    assert networks.backend.extractor == networks.embedder.fingerprint
    assert networks.backend.dim == networks.embedder.dim == 192
