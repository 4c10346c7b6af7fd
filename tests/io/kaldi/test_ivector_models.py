"""Background models and extractors: bytes by hand, Kaldi's own files, damage."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.kaldi.ivector_models import (
    KaldiExtractor,
    KaldiMixture,
    read_extractor,
    read_mixture,
    write_extractor,
    write_mixture,
)

ONE, TWO = (struct.pack("<bi", 4, n) for n in (1, 2))
DIAGONAL = KaldiMixture(
    np.array([0.25, 0.75]), np.array([[1.0], [-2.0]]), np.array([[4.0], [1.0]])
)
# Values at zero: log(w) + (log(p) - log(2 pi) - linear^2 / p) / 2
CONSTANTS = [
    np.log(0.25) + 0.5 * (np.log(4.0) - np.log(2 * np.pi) - 0.25),
    np.log(0.75) + 0.5 * (0.0 - np.log(2 * np.pi) - 4.0),
]
FULL = KaldiMixture(
    np.array([1.0]), np.array([[1.0, 0.5]]), np.array([[[2.0, 0.5], [0.5, 1.0]]])
)
EXTRACTOR = KaldiExtractor(
    np.array([[[1.0, 0.5], [2.0, -1.0]]]),
    np.array([[[2.0, 0.5], [0.5, 1.0]]]),
    np.array([1.0]),
    100.0,
)
PROJECTED = KaldiExtractor(
    EXTRACTOR.matrices, EXTRACTOR.precisions, np.array([[0.5, -0.25]]), 20.5
)
EXTRACTOR_TEXT = (
    "<IvectorExtractor> <w>  [ ]\n<w_vec>  [ 1.0 ]\n"
    "<M> 1  [\n  1.0 0.5 \n  2.0 -1.0 ]\n"
    "<SigmaInv> [\n2.0 \n0.5 1.0 ]\n<IvectorOffset> 100.0 </IvectorExtractor> "
)


def same(one, other):
    return type(one) is type(other) and all(
        np.asarray(value).tobytes() == np.asarray(getattr(other, name)).tobytes()
        and np.shape(value) == np.shape(getattr(other, name))
        for name, value in vars(one).items()
        if name in ("weights", "linear", "precisions", "matrices", "offset")
    )


def floats(*numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


def doubles(*numbers):
    return struct.pack(f"<{len(numbers)}d", *numbers)


def test_bytes_of_a_diagonal_mixture_by_hand(tmp_path):
    write_mixture(tmp_path / "dubm", DIAGONAL)
    assert (tmp_path / "dubm").read_bytes() == (
        b"\0B<DiagGMM> <GCONSTS> FV " + TWO + floats(*CONSTANTS)
        + b"<WEIGHTS> FV " + TWO + floats(0.25, 0.75)
        + b"<MEANS_INVVARS> FM " + TWO + ONE + floats(1, -2)
        + b"<INV_VARS> FM " + TWO + ONE + floats(4, 1) + b"</DiagGMM> "
    )  # fmt: skip
    assert same(read_mixture(tmp_path / "dubm"), DIAGONAL)


def test_bytes_of_an_extractor_by_hand(tmp_path):
    write_extractor(tmp_path / "ie", PROJECTED)
    none = struct.pack("<bi", 4, 0)
    assert (tmp_path / "ie").read_bytes() == (
        b"\0B<IvectorExtractor> <w> DM " + ONE + TWO + doubles(0.5, -0.25)
        + b"<w_vec> DV " + none + b"<M> " + ONE
        + b"DM " + TWO + TWO + doubles(1, 0.5, 2, -1)
        + b"<SigmaInv> DP " + TWO + doubles(2, 0.5, 1)
        + b"<IvectorOffset> \x08" + doubles(20.5) + b"</IvectorExtractor> "
    )  # fmt: skip
    assert same(read_extractor(tmp_path / "ie"), PROJECTED)


def test_text_by_hand(tmp_path):
    (tmp_path / "ie").write_text(EXTRACTOR_TEXT)
    assert same(read_extractor(tmp_path / "ie"), EXTRACTOR)
    # As Kaldi prints it: six digits, no constants, tokens of old versions
    (tmp_path / "ubm").write_text(
        "<FullGMMBegin> <WEIGHTS>  [ 1 ]\n<MEANS_INVCOVARS>  [\n  1 0.5 ]\n"
        "<INV_COVARS> [\n2 \n0.5 1 ]\n<FullGMMEnd> "
    )
    assert same(read_mixture(tmp_path / "ubm"), FULL)


def test_floats_and_doubles_are_read_alike(tmp_path):
    (tmp_path / "ie").write_bytes(
        b"\0B<IvectorExtractor> <w> FM " + ONE + TWO + floats(0.5, -0.25)
        + b"<w_vec> FV " + struct.pack("<bi", 4, 0) + b"<M> " + ONE
        + b"FM " + TWO + TWO + floats(1, 0.5, 2, -1)
        + b"<SigmaInv> FP " + TWO + floats(2, 0.5, 1)
        + b"<IvectorOffset> \x04" + floats(20.5) + b"</IvectorExtractor> "
    )  # fmt: skip
    assert same(read_extractor(tmp_path / "ie"), PROJECTED)


def test_means_and_covariances_are_those_of_the_mixture():
    covariance = np.array([[2.0, 0.6], [0.6, 1.0]])
    means = np.array([[1.0, -3.0]])
    full = KaldiMixture.of(np.ones(1), means, covariance[None])
    np.testing.assert_allclose(full.means, means, rtol=1e-12)
    np.testing.assert_allclose(full.covariances[0], covariance, rtol=1e-12)
    # log N(0; m, S) = -log(2 pi) - log|S| / 2 - m' S^-1 m / 2, |S| = 1.64,
    # m' S^-1 m = (1 + 3.6 + 18) / 1.64
    expected = -np.log(2 * np.pi) - 0.5 * np.log(1.64) - 0.5 * 22.6 / 1.64
    np.testing.assert_allclose(full.constants, [expected], rtol=1e-12)
    diagonal = full.diagonal()  # variances, not inverse diagonals of the precision
    np.testing.assert_allclose(diagonal.precisions, [[0.5, 1.0]], rtol=1e-12)
    np.testing.assert_allclose(diagonal.means, means, rtol=1e-12)


@pytest.mark.corpus
def test_files_of_kaldi_are_written_back(kaldi_reference, tmp_path):
    folder = kaldi_reference.folder / "extractor"
    extractor = read_extractor(folder / "final.ie")
    assert extractor.matrices.shape == (32, 60, 40)
    assert not extractor.has_weight_projection
    write_extractor(tmp_path / "ie", extractor)
    assert (tmp_path / "ie").read_bytes() == (folder / "final.ie").read_bytes()
    for name in ("final.dubm", "final.ubm"):
        original = (folder / name).read_bytes()
        mixture = read_mixture(folder / name)
        write_mixture(tmp_path / name, mixture)
        data = (tmp_path / name).read_bytes()
        # All but the 32 constants, which Kaldi computes in single precision
        start = original.index(b"<GCONSTS> FV ") + len(b"<GCONSTS> FV ") + 5
        rest = start + 4 * 32
        assert data[:start] == original[:start]
        assert data[rest:] == original[rest:]
        np.testing.assert_allclose(
            mixture.constants, np.frombuffer(original[start:rest], "<f4"), rtol=1e-5
        )


@given(
    seed=st.integers(0, 2**32 - 1),
    c=st.integers(1, 3),
    d=st.integers(1, 3),
    r=st.integers(1, 3),
    choice=st.booleans(),
)
def test_what_is_written_comes_back(tmp_path_factory, seed, c, d, r, choice):
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("models") / "model"
    factors = rng.standard_normal((c, d, d)) + 3 * np.eye(d)
    precisions = factors @ factors.transpose(0, 2, 1)
    extractor = KaldiExtractor(
        rng.standard_normal((c, d, r)),
        precisions,
        rng.standard_normal((c, r)) if choice else rng.random(c),
        float(rng.standard_normal()),
    )
    write_extractor(path, extractor)
    assert same(read_extractor(path), extractor)
    if not choice:
        precisions = 0.1 + rng.random((c, d))
    single = [rng.random(c) + 0.1, rng.standard_normal((c, d)), precisions]
    mixture = KaldiMixture(*(part.astype("f4").astype("f8") for part in single))
    write_mixture(path, mixture)
    assert same(read_mixture(path), mixture)


def refuse_truncated(path, data, read):
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(DataFormatError) as caught:
            read(path)
        assert caught.value.path == path


@pytest.mark.parametrize(
    ("model", "write", "read"),
    [
        (DIAGONAL, write_mixture, read_mixture),
        (FULL, write_mixture, read_mixture),
        (EXTRACTOR, write_extractor, read_extractor),
        (PROJECTED, write_extractor, read_extractor),
    ],
)
def test_a_truncated_file_is_refused_at_every_byte(tmp_path, model, write, read):
    write(tmp_path / "model", model)
    data = (tmp_path / "model").read_bytes().rstrip()
    refuse_truncated(tmp_path / "model", data, read)


def test_a_truncated_text_is_refused_at_every_byte(tmp_path):
    data = EXTRACTOR_TEXT.rstrip().encode()
    refuse_truncated(tmp_path / "model", data, read_extractor)


HUGE = struct.pack("<bi", 4, 2**31 - 1)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        (b"<w_vec>", b"<w_vek>", "expected <w_vec>"),
        (b"<SigmaInv> DP", b"<SigmaInv> DM", "expected FP or DP"),
        (b"</IvectorExtractor> ", b"</IvectorExtractor> x", "more follows"),
        (b"<M> " + ONE, b"<M> " + struct.pack("<bi", 4, 0), "must be >= 1"),
        (b"<M> " + ONE, b"<M> " + struct.pack("<bi", 4, -5), "must be >= 1"),
        (b"<M> " + ONE, b"<M> \x08" + ONE[1:], "number of Gaussians is not a number"),
        (b"<M> " + ONE, b"<M> " + HUGE, "2 of 2147483647"),
        (b"DM " + TWO + TWO, b"DM " + HUGE + HUGE, "declares 2147483647 x"),
        (b"<SigmaInv> DP " + TWO, b"<SigmaInv> DP " + HUGE, "declares 2147483647"),
        (b"DP " + TWO + doubles(2), b"DP " + ONE + doubles(2), "<IvectorOffset>"),
        (doubles(20.5), doubles(float("nan")), "offset must be"),
        (doubles(2, 0.5, 1), doubles(2, 5, 1), "positive definite"),
        (doubles(0.5, -0.25), doubles(0.5, float("inf")), "weights must be finite"),
        (doubles(1, 0.5, 2, -1), doubles(float("nan"), 0, 0, 0), "matrices must be"),
    ],
)
def test_a_damaged_extractor_is_refused_with_the_reason(tmp_path, old, new, part):
    path = tmp_path / "ie"
    write_extractor(path, PROJECTED)
    data = path.read_bytes()
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, new))
    with pytest.raises(DataFormatError, match=part) as caught:
        read_extractor(path)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("<w>  [ ]", "<w>  [ 1 2 ]", "must be a matrix"),
        ("<w_vec>  [ 1.0 ]", "<w_vec>  [\n 1 2\n3 4 ]", "must be a vector"),
        ("<w_vec>  [ 1.0 ]", "<w_vec>  [ 1.0 2.0 ]", "weights must be of shape"),
        ("<M> 1", "<M> one", "must be a number"),
        ("2.0 \n0.5 1.0 ]", "2.0 \n0.5 ]", "fill no triangle"),
        ("2.0 \n0.5 1.0 ]", "2.0 ]", "precisions must be of shape"),
        ("100.0", "1oo", "must be a number"),
        ("-1.0", "minus", "not a number"),
    ],
)
def test_a_damaged_text_is_refused_with_the_reason(tmp_path, old, new, part):
    path = tmp_path / "ie"
    assert EXTRACTOR_TEXT.count(old) == 1
    path.write_text(EXTRACTOR_TEXT.replace(old, new))
    with pytest.raises(DataFormatError, match=part) as caught:
        read_extractor(path)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        (b"<DiagGMM>", b"<FullGMM>", "expected <MEANS_INVCOVARS>"),
        (b"<DiagGMM>", b"<Plda>   ", "expected <DiagGMM> or"),
        (floats(0.25, 0.75), floats(-0.25, 0.75), "weights must be >= 0"),
        (floats(4, 1), floats(4, 0), "must be positive"),
        (floats(1, -2), floats(1, float("nan")), "linear must be finite"),
        (b"<WEIGHTS> FV " + TWO, b"<WEIGHTS> FV " + HUGE, "declares 2147483647"),
    ],
)
def test_a_damaged_mixture_is_refused_with_the_reason(tmp_path, old, new, part):
    path = tmp_path / "dubm"
    write_mixture(path, DIAGONAL)
    data = path.read_bytes()
    assert data.count(old) >= 1
    path.write_bytes(data.replace(old, new))
    with pytest.raises(DataFormatError, match=part) as caught:
        read_mixture(path)
    assert caught.value.path == path


def test_a_mixture_without_components_is_refused(tmp_path):
    (tmp_path / "ubm").write_text("<FullGMM> <WEIGHTS> [ ] <MEANS_INVCOVARS> [ ]"
                                  " <INV_COVARS> </FullGMM>")  # fmt: skip
    with pytest.raises(DataFormatError, match="no components"):
        read_mixture(tmp_path / "ubm")


def test_numbers_that_floats_cannot_hold_are_not_written(tmp_path):
    large = KaldiMixture(np.ones(1), np.array([[1e300]]), np.ones((1, 1)))
    with pytest.raises(InvalidParameterError, match="finite as floats"):
        write_mixture(tmp_path / "dubm", large)
    assert not (tmp_path / "dubm").exists()
