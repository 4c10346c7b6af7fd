"""Model files: what comes back, and what is refused by name."""

import json
import os
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sms_diar.errors import DataFormatError, MissingFileError
from sms_diar.io.model import (
    FORMAT_VERSION,
    ModelFile,
    is_model,
    read_model,
    write_model,
)

MODEL = ModelFile(
    "toy",
    {"matrix": np.arange(6.0).reshape(2, 3), "scale": np.asarray(2.5)},
    {"source": "träin.npz", "n": 3, "extractor": None},
)
HEADER = "sms_diar_model"


@pytest.fixture(name="path")
def written(tmp_path):
    path = tmp_path / "toy.npz"
    write_model(path, MODEL)
    return path


def rewrite(path, *, arrays=None, **changes):
    """Change entries of the header, or arrays, behind the back of the writer."""
    with np.load(path) as content:
        entries = {name: content[name] for name in content.files}
    header = json.loads(str(entries[HEADER])) | changes
    entries |= {HEADER: np.array(json.dumps(header))} | (arrays or {})
    np.savez(path, **entries)


def refusal(path, kind="toy"):
    with pytest.raises(DataFormatError) as caught:
        read_model(path, kind)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value).removeprefix(f"{path}: ")


def test_a_model_comes_back_as_it_was(path):
    back = read_model(path, "toy")
    assert back.kind == "toy"
    assert back.words == MODEL.words
    assert sorted(back.arrays) == ["matrix", "scale"]
    for name, array in MODEL.arrays.items():
        assert back.arrays[name].dtype == array.dtype
        assert back.arrays[name].tolist() == array.tolist()
    assert back.fingerprint == MODEL.fingerprint
    assert is_model(path)


@given(
    array=hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.int64, np.bool_]),
        hnp.array_shapes(min_dims=0, max_dims=3, max_side=4),
    )
)
def test_any_array_comes_back_bit_by_bit(tmp_path_factory, array):
    path = tmp_path_factory.mktemp("model") / "m.npz"
    write_model(path, ModelFile("toy", {"a": array}, {}))
    back = read_model(path, "toy").arrays["a"]
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.tobytes() == array.tobytes()


def test_the_fingerprint_follows_from_kind_and_arrays_alone():
    same = ModelFile("toy", dict(reversed(MODEL.arrays.items())), {"other": "words"})
    assert same.fingerprint == MODEL.fingerprint
    assert len(MODEL.fingerprint) == 16
    assert int(MODEL.fingerprint, 16) >= 0
    others = [
        ModelFile("other", MODEL.arrays, {}),
        ModelFile("toy", {**MODEL.arrays, "scale": np.asarray(2.6)}, {}),
        ModelFile("toy", {**MODEL.arrays, "scale": np.float32(2.5)}, {}),
        ModelFile("toy", {**MODEL.arrays, "matrix": np.arange(6.0)}, {}),
        ModelFile("toy", {"matrix": MODEL.arrays["matrix"]}, {}),
    ]
    assert len({MODEL.fingerprint, *(other.fingerprint for other in others)}) == 6


def test_writing_replaces_and_leaves_nothing_beside(path):
    write_model(path, ModelFile("toy", {"a": np.ones(1)}, {}))
    assert list(read_model(path, "toy").arrays) == ["a"]
    assert list(path.parent.iterdir()) == [path]


def test_words_that_json_cannot_hold_leave_the_old_file(path):
    before = path.read_bytes()
    with pytest.raises(TypeError):
        write_model(path, ModelFile("toy", {}, {"bad": object()}))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_file(tmp_path):
    with pytest.raises(MissingFileError) as caught:
        read_model(tmp_path / "gone.npz", "toy")
    assert str(caught.value) == f"{tmp_path / 'gone.npz'}: no such file"
    assert not is_model(tmp_path / "gone.npz")
    os.mkfifo(tmp_path / "pipe")
    assert not is_model(tmp_path / "pipe")


def test_an_npz_that_is_no_model(tmp_path):
    np.savez(tmp_path / "x.npz", vectors=np.ones((2, 2)), ids=["a", "b"])
    assert not is_model(tmp_path / "x.npz")
    assert refusal(tmp_path / "x.npz") == (
        "not a model file of sms_diar: it has no entry 'sms_diar_model', only ids, "
        "vectors"
    )


def test_an_empty_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w"):
        pass
    assert refusal(tmp_path / "x.npz") == (
        "not a model file of sms_diar: it has no entry 'sms_diar_model', only none"
    )


def test_a_model_of_another_kind(path):
    assert (
        refusal(path, "backend") == "contains a model of kind 'toy', expected 'backend'"
    )


def test_a_newer_format_says_to_update(path):
    rewrite(path, version=FORMAT_VERSION + 1)
    assert refusal(path) == (
        "written in format 2, this version reads up to 1; update sms_diar"
    )
    assert is_model(path)


def test_a_newer_format_is_named_before_its_kind(path):
    rewrite(path, version=9, kind="something new")
    assert refusal(path).startswith("written in format 9")


@pytest.mark.parametrize(
    "arrays",
    [
        {"matrix": np.arange(6.0).reshape(3, 2)},
        {"matrix": np.zeros((2, 3))},
        {"more": np.zeros(1)},
        {"scale": np.asarray(2.5, dtype=np.float32)},
    ],
    ids=["reshaped", "changed", "added", "narrowed"],
)
def test_arrays_that_do_not_match_the_fingerprint(path, arrays):
    rewrite(path, arrays=arrays)
    assert refusal(path) == (
        "the arrays of this model do not match its fingerprint; the file is damaged "
        "or was edited"
    )


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ('{"version": 1}', "'kind'"),
        ('{"version": "new", "kind": "toy"}', "invalid literal for int"),
        ("not json", "Expecting value: line 1 column 1 (char 0)"),
        ("[1]", "list indices must be integers or slices, not str"),
        ('{"version": 1, "kind": "toy", "words": 3}', "'int' object is not iterable"),
    ],
)
def test_a_header_that_makes_no_sense(path, header, problem):
    rewrite(path, arrays={HEADER: np.array(header)})
    message = refusal(path)
    assert message.startswith(f"invalid header of a model file ({problem}")
    assert message.endswith(")")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file(path, share):
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    refusal(path)


def test_a_flipped_bit_is_noticed(path):
    data = bytearray(path.read_bytes())
    place = data.index(np.float64(5.0).tobytes())
    data[place] ^= 1
    path.write_bytes(data)
    assert "matrix" in refusal(path)


def test_text_is_no_model(tmp_path):
    path = tmp_path / "model.npz"
    path.write_text("<Plda> [ 1 2 ]")
    assert not is_model(path)
    refusal(path)


def test_pickles_are_never_loaded(path):
    rewrite(path, arrays={"matrix": np.array([{"a": 1}], dtype=object)})
    assert "matrix" in refusal(path)
