"""Chunks of x-vectors, with a network whose output is the mean of its frames."""

import io

import numpy as np
import pytest

from sms_diar.embeddings.xvectors import XvectorExtractor
from sms_diar.errors import InvalidParameterError
from sms_diar.io.kaldi.nnet3 import read_nnet3
from sms_diar.networks.nnet3 import Nnet3Network
from tests.networks.nnet3_files import Builder, plain_tdnn

FRAMES = np.arange(10.0)[:, None]


@pytest.fixture(scope="module")
def mean():
    net = Builder()
    net.lines = ["input-node name=input dim=1"]
    net.extraction("extract", "input", 1, squares=False)
    net.pooling("pool", "extract", 2, std=False)
    return Nnet3Network(read_nnet3(io.BytesIO(net.output("pool").binary)))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"chunk_size": -1}, 4.5),
        ({"chunk_size": 100}, 4.5),
        # Means 1.5, 5.5 and 8.5 of 4, 4 and 2 frames: (6 + 22 + 17) / 10
        ({"chunk_size": 4}, 4.5),
        # 0 1 2 3 3, 4 5 6 7 7 and 8 8 9 9 9 have the means 1.8, 5.8 and 8.6:
        # (4 * 1.8 + 4 * 5.8 + 2 * 8.6) / 10
        ({"chunk_size": 4, "min_chunk_size": 5}, 4.76),
    ],
)
def test_chunks_are_averaged_by_their_length(mean, settings, expected):
    extractor = XvectorExtractor(mean, **({"min_chunk_size": 1} | settings))
    vector = extractor.extract(FRAMES)
    assert vector.dtype == np.float32
    np.testing.assert_allclose(vector, [expected], rtol=1e-6)


def test_segments_that_are_too_short_are_refused(mean):
    problem = XvectorExtractor(mean).vector_or_problem(("a", FRAMES[:0]))
    assert problem.segment == "a"
    assert XvectorExtractor(mean).vector_or_problem(problem) == problem
    # Eleven frames of context are needed, and padding gives ten.
    network = Nnet3Network(read_nnet3(io.BytesIO(plain_tdnn().binary)))
    padding = XvectorExtractor(network, min_chunk_size=10, chunk_size=12)
    frames = np.zeros((36, 4))
    results = [padding.vector_or_problem(("a", frames[:n])) for n in range(36)]
    accepted = [n for n, result in enumerate(results) if isinstance(result, tuple)]
    assert accepted == [11, 12, 23, 24, 35]


@pytest.mark.parametrize(
    "change",
    [
        {"chunk_size": 9},
        {"min_chunk_size": 9},
        {"identity": {"network": "x"}},
    ],
)
def test_all_settings_change_the_fingerprint(mean, change):
    fingerprint = XvectorExtractor(mean).fingerprint
    assert len(fingerprint) == 16
    assert XvectorExtractor(mean, **change).fingerprint != fingerprint


@pytest.mark.parametrize("change", [{"chunk_size": 0}, {"min_chunk_size": 0}])
def test_sizes_must_be_positive(mean, change):
    with pytest.raises(InvalidParameterError) as caught:
        XvectorExtractor(mean, **change)
    assert caught.value.parameter == next(iter(change))
