"""The networks give what the originals give.

How originals.npz was made, once, outside the project (torch 2.13.0 for CPUs,
kaldi-native-fbank 1.22.4, onnxruntime 1.31.1). Signals are those of the fixture
`warble`, over 32768, with the seeds and lengths that the file holds.

- `filterbank`: kaldi-native-fbank's OnlineFbank at 16 kHz with 80 bins, dither 0, and
  otherwise its defaults, of the signal with seed 3.
- `campplus`: those frames less their mean, through class CAMPPlus (feat_dim=80,
  embedding_size=192) of 3D-Speaker's speakerlab/models/campplus in evaluation mode,
  with the weights of campplus_cn_en_common.pt.
- `hamming`: as `filterbank`, with the window "hamming" and samples times 32768.
- `resnet34`: such frames less their mean, through speaker_verification.onnx, run by
  onnxruntime.
- `segmentation`: segmentation-3.0.onnx run by onnxruntime on 10 s.
- `segmentation_2022`: pytorch_model.bin of whisperx loaded and run by pyannote.audio
  4.0.7 on 5 s. Of the seeds 1 to 40, it varies most with 35 for the first speaker, and
  with 7 for the second; with 3 it is sensitive to the first filters.
"""

import numpy as np
import pytest

from sms_diar.embeddings.network import load_embedder
from sms_diar.features.filterbank import FilterbankConfig, filterbank
from sms_diar.features.mono import ArraySamples, MonoAudio
from sms_diar.features.segmentation import load_segmenter
from sms_diar.io.audio.files import AudioFile
from sms_diar.types import Segment


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def test_filterbanks_are_kaldis(originals, warble):
    found = filterbank(warble(3, 0.4) / 32768, FilterbankConfig())
    assert found.shape == originals["filterbank"].shape == (38, 80)
    # The original computes in 32 bits, whose logarithms of small energies are rough.
    np.testing.assert_allclose(found, originals["filterbank"], atol=5e-4)
    found = filterbank(warble(3, 0.4), FilterbankConfig(window="hamming"))
    np.testing.assert_allclose(found, originals["hamming"], atol=5e-4)


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("name", ["campplus", "resnet34"])
def test_embedders_give_the_vectors_of_the_originals(
    stored_network, originals, warble, name, number
):
    stored_network(name)
    seconds = float(originals["seconds"][number])
    samples = warble(int(originals["seeds"][number]), seconds)
    embedder = load_embedder(name)
    whole = Segment("warble", 0.0, seconds)
    [found] = embedder.embed(ArraySamples(samples, 16000), [whole])
    expected = originals[name][number]
    assert np.abs(found - expected).max() < 1e-5 * np.linalg.norm(expected)


def test_segmentation_gives_the_log_probabilities_of_the_original(
    stored_network, originals, warble
):
    stored_network("segmentation")
    seeds = originals["segmentation_seeds"]
    windows = np.stack([warble(int(seed), 10.0) / 32768 for seed in seeds])
    found = load_segmenter().log_probabilities(windows)
    assert found.shape == (2, 589, 7)
    np.testing.assert_allclose(found, originals["segmentation"], atol=1e-4)
    assert np.ptp(np.exp(found[..., 0])) > 0.1  # the signals are not all silence to it


def test_segmentation_2022_gives_the_probabilities_of_the_original(
    stored_network, originals, warble
):
    stored_network("segmentation-2022")
    seeds = originals["segmentation_2022_seeds"]
    windows = np.stack([warble(int(seed), 5.0) / 32768 for seed in seeds])
    segmenter = load_segmenter("segmentation-2022")
    active = np.array([[i in group for i in range(3)] for group in segmenter.classes])
    found = np.exp(segmenter.log_probabilities(windows)) @ active
    assert found.shape == (3, 293, 3)
    np.testing.assert_allclose(found, originals["segmentation_2022"], rtol=0, atol=1e-4)
    assert np.ptp(found, axis=1).max() > 0.5  # the signals are not all alike to it


@pytest.mark.corpus
def test_campplus_gives_the_vectors_that_others_computed_of_real_meetings(
    stored_network, corpus_data
):
    # They were made by senko's code, which rectifies what the original leaves as it is.
    stored_network("campplus")
    folder = corpus_data / "conversations"
    with np.load(folder / "campplus_windows.npz") as content:
        there = dict(content)
    rows = np.flatnonzero(there["rec"] == there["rec"][0])[:4]
    audio = dict(
        line.split(maxsplit=1) for line in (folder / "wav.scp").read_text().splitlines()
    )
    name = str(there["rec"][0])
    segments = [
        Segment(name, float(there["start"][row]), float(there["end"][row]))
        for row in rows
    ]
    with AudioFile(folder / audio[name]) as file, MonoAudio([file], 16000) as mono:
        found = load_embedder("campplus").embed(mono, segments)
    cosines = (unit(np.maximum(found, 0.0)) * unit(there["x"][rows])).sum(axis=1)
    assert cosines.min() > 0.999
