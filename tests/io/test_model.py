"""Model files: what comes back, and what is refused by name."""

import json
import os
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

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


READ = partial(read_model, kind="toy")


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


def test_words_that_json_cannot_hold_leave_the_old_file(path):
    before = path.read_bytes()
    with pytest.raises(TypeError):
        write_model(path, ModelFile("toy", {}, {"bad": object()}))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_what_is_no_model_file_is_not_called_one(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("<Plda> [ 1 2 ]")
    np.savez(tmp_path / "x.npz", vectors=np.ones((2, 2)), ids=["a", "b"])
    for name in ("gone.npz", "pipe", "text", "x.npz"):
        assert not is_model(tmp_path / name)


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [({"ids": ["a"], "x": np.ones((1, 2))}, "only ids, x"), ({}, "only none")],
)
def test_an_npz_that_is_no_model(refused, tmp_path, arrays, problem):
    np.savez(tmp_path / "x.npz", **arrays)
    refused(READ, None, problem, name="x.npz")


def test_a_model_of_another_kind(refused, path):
    read = partial(read_model, kind="backend")
    refused(read, None, "of kind 'toy', expected 'backend'", name=path.name)


@pytest.mark.parametrize("kind", ["toy", "something new"])
def test_a_newer_format_says_to_update(refused, path, kind):
    rewrite(path, version=FORMAT_VERSION + 1, kind=kind)
    refused(READ, None, "written in format 2", name=path.name)
    assert is_model(path)


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"matrix": np.arange(6.0).reshape(3, 2)}, "do not match its fingerprint"),
        ({"matrix": np.zeros((2, 3))}, "do not match its fingerprint"),
        ({"more": np.zeros(1)}, "do not match its fingerprint"),
        ({"scale": np.asarray(2.5, dtype=np.float32)}, "do not match its fingerprint"),
        ({"matrix": np.array([{"a": 1}], dtype=object)}, "'matrix' contains Python"),
    ],
    ids=["reshaped", "changed", "added", "narrowed", "pickled"],
)
def test_arrays_that_do_not_match_the_fingerprint(refused, path, arrays, problem):
    rewrite(path, arrays=arrays)
    refused(READ, None, problem, name=path.name)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file(refused, path, share):
    data = path.read_bytes()
    refused(READ, data[: int(share * len(data))], name=path.name)


def test_a_flipped_bit_is_noticed(refused, path):
    data = bytearray(path.read_bytes())
    place = data.index(np.float64(5.0).tobytes())
    data[place] ^= 1
    refused(READ, bytes(data), "matrix", name=path.name)
