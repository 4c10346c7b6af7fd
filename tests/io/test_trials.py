"""Trials, keys and scores of Kaldi, NIST and SIDEKIT.

The files in ``sidekit`` were written by SIDEKIT 1.4.3.2 (`Key.write` and so on) with
models m1 and m2, segments a, b and c, and all trials but (m2, c). Targets are (m1, a)
and (m2, b), and scores count from 0 by rows.
"""

from pathlib import Path

import numpy as np
import pytest

from sms_diar.errors import DataFormatError, MissingFileError
from sms_diar.io.labels import read_labels
from sms_diar.io.trials import count_trials, read_scores, read_trials, scores_of

SIDEKIT = Path(__file__).parent / "sidekit"
MODELS, TESTS = ("m1", "m2"), ("xa", "xb_a", "xb_B", "xc:a")


@pytest.fixture(name="read")
def reader(tmp_path):
    def read(text):
        (tmp_path / "trials").write_text(text)
        trials = read_trials(tmp_path / "trials", MODELS, TESTS)
        pairs = zip(trials.rows.tolist(), trials.columns.tolist(), strict=True)
        truth = trials.is_target
        return list(pairs), None if truth is None else truth.tolist(), trials.groups

    return read


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("m1 xa\nm2 xb_a\n", None),
        ("m1 xa target\nm2 xb_a nontarget\n", [True, False]),
        ("m1\txa\ttarget\nm2\txb_a\tnontarget\n", [True, False]),
        ("m1 xa a\nm2 xb a\n", None),  # 2004 to 2006
        ("m1 m xa a\nm2 f xb A\n", None),
        ("m1 m xa.sph a target\nm2 m xb.sph 1 nontarget\n", [True, False]),
        ("m1,xa,a,target,Y,N\nm2,xb,a,nontarget,N,Y\n", [True, False]),  # 2008, 2010
        ("key,of,NIST,names\nm1,xa,a,target\nm2,xb,a,nontarget\n", [True, False]),
        ("modelid,segment,side,key\nm1,xa,a,Y\nm2,xb,a,Y\n", None),
        (
            "modelid\tsegment\tside\ttargettype\tgender\n"  # since 2016
            "m1\txa.sph\ta\ttarget\tmale\nm2\txb.sph\ta\tnontarget\tfemale\n",
            [True, False],
        ),
        ("modelid\tsegmentid\tside\nm1\txa.flac\ta\nm2\tdata/xb.sph\ta\n", None),
        ("targettype modelid segmentid\ntarget m1 xa\nnontarget m2 xb_a\n", [1, 0]),
    ],
)
def test_every_layout_gives_the_same_trials(read, text, truth):
    assert read(text) == ([(0, 0), (1, 1)], truth, None)


def test_the_side_decides_between_two_channels_of_a_segment(read):
    pairs, _, _ = read("m1 xb a\nm1 xb b\nm1 xc a\nm1 xa b\n")
    assert pairs == [(0, 1), (0, 2), (0, 3), (0, 0)]


def test_known_and_unknown_non_targets_are_groups(read):
    text = "m1,xa,a,target\nm1,xb,a,known_nontarget\nm1,xb,b,unknown_nontarget\n"
    _, truth, groups = read(text)
    assert (truth, groups) == ([True, False, False], ("", "known", "unknown"))


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", None, "contains no trials"),
        ("modelid\tsegmentid\n", None, "contains no trials"),
        ("m1\n", 1, "this one has 1"),
        ("m1 xa\nm1 xa target\n", 2, "this line has 3 fields, the first has 2"),
        ("m1 xa yes\n", 1, "target or nontarget, got 'yes'"),
        ("m1 xa a TARGET\nm1 xa a t\n", 2, "target or nontarget, got 't'"),
        ("m1 xa c target\n", 1, "a side is a or b, got 'c'"),
        ("m1 xz\n", 1, "'xz' is not among the tests of the embeddings"),
        ("m9 xa\n", 1, "'m9' is not among the models"),
        ("m1,,a,target\n", 1, "white space"),
        ("m1 x\x1ba\n", 1, "not a valid id"),
        ("m1 xa\r\n", 1, "CR LF"),
    ],
)
def test_wrong_lines_are_named(tmp_path, text, line, says):
    (tmp_path / "trials").write_bytes(text.encode())
    with pytest.raises(DataFormatError) as caught:
        read_trials(tmp_path / "trials", MODELS, TESTS)
    assert caught.value.line == line
    assert says in caught.value.problem


def test_scores_of_kaldi_and_of_nist_are_equal(tmp_path):
    texts = {
        "kaldi": "m1 x_a 1.5\nm2 x_a -2e1\nm1 y_b 0\n",
        "nist": "modelid\tsegmentid\tside\tLLR\nm1\tx.sph\ta\t1.5\nm2\tx.sph\ta\t-20\n"
        "m1\ty.sph\tb\t0\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        scores = read_scores(tmp_path / name)
        assert (scores.enrolled, scores.tested) == (("m1", "m2"), ("x_a", "y_b"))
        assert scores.rows.tolist() == [0, 1, 0]
        assert scores.columns.tolist() == [0, 0, 1]
        assert scores.scores.tolist() == [1.5, -20.0, 0.0]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a b\n", 1, "this one has 2"),
        ("a b c\n", 1, "finite number, got 'c'"),
        ("a b nan\n", 1, "finite number, got 'nan'"),
        ("a b 1\na b 1e999\n", 2, "finite number"),
        ("modelid\tsegmentid\na\tb\n", 1, "no column 'LLR'"),
    ],
)
def test_wrong_scores_are_named(tmp_path, text, line, says):
    (tmp_path / "scores").write_text(text)
    with pytest.raises(DataFormatError) as caught:
        read_scores(tmp_path / "scores")
    assert caught.value.line == line
    assert says in caught.value.problem


def test_scores_are_found_in_any_order(tmp_path):
    (tmp_path / "first").write_text("a x 1\na y 2\nb x 3\n")
    (tmp_path / "other").write_text("b y 9\nb x 30\na y 20\na x 10\n")
    first, other = (read_scores(tmp_path / name) for name in ("first", "other"))
    assert scores_of(first, other, tmp_path / "other").tolist() == [10, 20, 30]
    with pytest.raises(DataFormatError, match=r"no score of 1 of 4 trials.* b y"):
        scores_of(other, first, tmp_path / "first")


def test_repeated_scores_and_trials_are_refused(tmp_path):
    (tmp_path / "twice").write_text("a x 1\na y 2\na x 1\n")
    twice = read_scores(tmp_path / "twice")
    (tmp_path / "once").write_text("a x 1\na y 2\n")
    once = read_scores(tmp_path / "once")
    with pytest.raises(DataFormatError, match="two scores of one trial"):
        scores_of(once, twice, tmp_path / "twice")
    with pytest.raises(DataFormatError, match="one score for two trials"):
        scores_of(twice, once, tmp_path / "once")


def test_files_of_sidekit_are_read():
    pytest.importorskip("h5py")
    trials = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    for name, truth in (("key", [True, False, False, False, True]), ("ndx", None)):
        read = read_trials(SIDEKIT / f"{name}.h5", ("m1", "m2"), ("a", "b", "c"))
        assert list(zip(read.rows, read.columns, strict=True)) == trials
        assert (None if read.is_target is None else read.is_target.tolist()) == truth
        assert count_trials(SIDEKIT / f"{name}.h5") == 6  # cells of the mask
    scores = read_scores(SIDEKIT / "scores.h5")
    assert (scores.enrolled, scores.tested) == (("m1", "m2"), ("a", "b", "c"))
    assert scores.scores.tolist() == [0, 1, 2, 3, 4]
    assert read_labels(SIDEKIT / "idmap.h5") == {"a": "m1", "b": "m2", "c": "m2"}


def sidekit_key(path, **changes):
    h5py = pytest.importorskip("h5py")
    parts = {
        "modelset": np.array(["m1", "m2"], dtype="S"),
        "segset": np.array(["a", "b"], dtype="S"),
        "trial_mask": np.array([[1, -1], [0, 1]], np.int8),
    }
    with h5py.File(path, "w") as file:
        for name, value in {**parts, **changes}.items():
            if value is not None:
                file[name] = value
    return path


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"trial_mask": None}, "without trial_mask; expected a Key or Ndx"),
        ({"trial_mask": np.ones((2, 3))}, r"must have shape \(2, 2\)"),
        ({"trial_mask": np.zeros((2, 2))}, "contains no trials"),
        ({"modelset": np.arange(2)}, "'modelset' must be a list of text"),
        ({"segset": ["a", "b"]}, "text of fixed length"),  # of variable length
        ({"segset": np.array([b"\xff", b"b"])}, "not a whole HDF5 file"),
    ],
)
def test_damaged_keys_of_sidekit_are_refused(tmp_path, changes, says):
    path = sidekit_key(tmp_path / "key.h5", **changes)
    with pytest.raises(DataFormatError, match=says):
        read_trials(path, ("m1", "m2"), ("a", "b"))


def test_hdf5_reads_no_other_file(tmp_path):
    h5py = pytest.importorskip("h5py")
    other = sidekit_key(tmp_path / "other.h5")
    link = h5py.ExternalLink(str(other), "trial_mask")
    path = sidekit_key(tmp_path / "link.h5", trial_mask=link)
    with pytest.raises(DataFormatError, match="without trial_mask"):
        read_trials(path, ("m1", "m2"), ("a", "b"))
    layout = h5py.VirtualLayout((2, 2), np.int8)
    layout[:] = h5py.VirtualSource(str(other), "trial_mask", (2, 2))
    path = sidekit_key(tmp_path / "virtual.h5", trial_mask=None)
    with h5py.File(path, "a") as file:
        file.create_virtual_dataset("trial_mask", layout)
    with pytest.raises(DataFormatError, match="stored in this file"):
        read_trials(path, ("m1", "m2"), ("a", "b"))
    path = sidekit_key(tmp_path / "external.h5", trial_mask=None)
    with h5py.File(path, "a") as file:
        raw = [(str(other), 0, 4)]
        file.create_dataset("trial_mask", (2, 2), np.int8, external=raw)
    with pytest.raises(DataFormatError, match="stored in this file"):
        read_trials(path, ("m1", "m2"), ("a", "b"))


def test_masks_that_would_fill_the_memory_are_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = sidekit_key(tmp_path / "key.h5", trial_mask=None)
    with h5py.File(path, "a") as file:  # never written, so it takes no space
        file.create_dataset("trial_mask", (10**6, 10**6), np.int8, chunks=(1000, 1000))
    with pytest.raises(DataFormatError, match="would unpack to"):
        read_trials(path, ("m1", "m2"), ("a", "b"))
    with h5py.File(path, "a") as file:  # a small dataset in an enormous chunk
        del file["trial_mask"]
        file.create_dataset(
            "trial_mask",
            (2, 2),
            np.int8,
            chunks=(20_000, 20_000),
            maxshape=(None, None),
        )
    with pytest.raises(DataFormatError, match="would unpack to"):
        read_trials(path, ("m1", "m2"), ("a", "b"))


def test_labels_of_the_i_vector_challenge_are_read(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("ivectorid,speaker_id\naa,7\nbb,8\n")
    assert read_labels(path) == {"aa": "7", "bb": "8"}
    path.write_text("target_speaker_modelid,model_ivectorids[2]\nm1,aa bb\nm2,cc dd\n")
    assert read_labels(path) == {"aa": "m1", "bb": "m1", "cc": "m2", "dd": "m2"}


def test_damaged_id_maps_are_refused(tmp_path):
    ids = np.array(["a", "a"], dtype="S")
    path = sidekit_key(tmp_path / "map.h5", leftids=ids, rightids=ids)
    with pytest.raises(DataFormatError, match="2 different ids"):
        read_labels(path)
    with pytest.raises(DataFormatError, match="without leftids"):
        read_labels(SIDEKIT / "key.h5")
    with pytest.raises(MissingFileError):
        read_labels(tmp_path / "none")
