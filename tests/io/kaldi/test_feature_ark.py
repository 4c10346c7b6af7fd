"""Arks of frames, as kaldiio reads them."""

import io

import kaldiio
import numpy as np
import pytest

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.kaldi.feature_ark import FeatureArk, FrameTable


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


@pytest.mark.parametrize("method", [None, 2, 3, 5])  # FM, CM, CM2 and CM3
def test_frames_are_read_as_by_kaldiio(method, tmp_path):
    matrices = {"a": frames(12), "b": frames(40, seed=2)}
    ark, scp = tmp_path / "feats.ark", tmp_path / "feats.scp"
    kaldiio.save_ark(str(ark), matrices, scp=str(scp), compression_method=method)
    expected = kaldiio.load_scp(str(scp))
    table = FrameTable(scp)
    assert table.ids == ["a", "b"]
    for name in ("b", "a"):
        matrix = table.read(name, ndim=2)
        np.testing.assert_allclose(matrix, expected[name], rtol=1e-5, atol=1e-6)


def test_a_range_of_rows_may_exceed_its_matrix_by_three(tmp_path):
    kaldiio.save_ark(str(tmp_path / "x.ark"), {"a": frames(10)})
    scp = tmp_path / "feats.scp"
    scp.write_text(
        "a x.ark:2[4:6]\nb x.ark:2[4:12]\nc x.ark:2[4:13]\nd x.ark:2[10:11]\n"
    )
    table = FrameTable(scp)
    np.testing.assert_array_equal(table.read("a", ndim=2), frames(10)[4:7])
    np.testing.assert_array_equal(table.read("b", ndim=2), frames(10)[4:])
    for name, line in (("c", 3), ("d", 4)):
        with pytest.raises(DataFormatError, match="exceeds 10 frames") as caught:
            table.read(name, ndim=2)
        assert (caught.value.path, caught.value.line) == (scp, line)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("a touch x |", "commands are not supported"),
        ("a none.ark:2", "no such file"),
        ("a x.ark:2", "truncated or damaged"),
    ],
)
def test_entries_that_cannot_be_read_are_named(line, problem, tmp_path):
    (tmp_path / "x.ark").write_bytes(b"a \0BCM " + b"\1" * 20)
    scp = tmp_path / "feats.scp"
    scp.write_text(f"\n{line}\n")
    with pytest.raises(DataFormatError, match=problem) as caught:
        FrameTable(scp).read("a", ndim=2)
    assert (caught.value.path, caught.value.line) == (scp, 2)


def test_an_id_occurs_once_and_must_be_there(tmp_path):
    scp = tmp_path / "vad.scp"
    scp.write_text("a x.ark:2\na x.ark:5\n")
    with pytest.raises(DataFormatError, match="occurs a second time"):
        FrameTable(scp)
    scp.write_text("a x.ark:2\n")
    with pytest.raises(DataFormatError, match="no entry for 'b'"):
        FrameTable(scp).read("b", ndim=1)
