"""Arks of frames, as kaldiio reads them."""

import io

import kaldiio
import numpy as np
import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.io.kaldi.feature_ark import FeatureArk


def frames(n, d=5, seed=1):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


def written(matrices, **options):
    stream = io.BytesIO()
    ark = FeatureArk(stream, **options)
    for name, matrix in matrices.items():
        ark.write(name, matrix)
    return stream, ark


def test_plain_matrices_come_back_to_the_last_bit(tmp_path):
    matrices = {"a": frames(3), "b": frames(40, seed=2)}
    stream, ark = written(matrices)
    assert len(ark) == 2
    (tmp_path / "x.ark").write_bytes(stream.getvalue())
    (tmp_path / "x.scp").write_text(ark.scp(tmp_path / "x.ark"))
    for name, matrix in kaldiio.load_scp(str(tmp_path / "x.scp")).items():
        assert matrix.dtype == np.float32
        np.testing.assert_array_equal(matrix, matrices[name])


@pytest.mark.parametrize("n", [1, 2, 4, 8, 9, 300])
def test_compression_is_kaldiios_own(n):
    matrix = frames(n)
    stream, _ = written({"a": matrix}, compress=True)
    want = io.BytesIO()
    kaldiio.save_ark(want, {"a": matrix}, compression_method=2 if n > 8 else 3)
    assert stream.getvalue() == want.getvalue()
    [(_, got)] = kaldiio.load_ark(io.BytesIO(stream.getvalue()))
    spread = float(np.ptp(matrix))
    assert np.abs(got - matrix).max() <= 0.02 * spread


def test_ids_with_blanks_are_refused():
    with pytest.raises(InvalidParameterError) as caught:
        written({"a b": frames(1)})
    assert str(caught.value).startswith(
        "FeatureArk: id must be a name without white space"
    )
