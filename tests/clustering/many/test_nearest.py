"""Neighbours of very many rows."""

import sys

import numpy as np
import pytest

from sms_diar.clustering.many import nearest
from sms_diar.clustering.many._reference import scores_of_all
from sms_diar.clustering.many.nearest import (
    Rows,
    exact_neighbours,
    find_neighbours,
    load_faiss,
)
from sms_diar.errors import MissingExtraError

PSI = np.geomspace(4.0, 0.3, 12)


def crowd(n_speakers=40, each=15, seed=0):
    rng = np.random.default_rng(seed)
    voices = np.sqrt(PSI) * rng.standard_normal((n_speakers, 12)) * 2.0
    speakers = rng.permutation(np.repeat(np.arange(n_speakers), each))
    rows = voices[speakers] + rng.standard_normal((len(speakers), 12))
    return Rows(rows.astype(np.float32), PSI), speakers


@pytest.fixture(scope="module")
def rows():
    return crowd()[0]


@pytest.fixture(scope="module")
def ranked(rows):
    scores = scores_of_all(rows.vectors, PSI)
    np.fill_diagonal(scores, -np.inf)
    return scores, np.argsort(-scores, axis=1)


def test_all_distances_give_the_partners_of_highest_score(rows, ranked):
    near, scores = find_neighbours(rows, 7, search="exact")
    known, order = ranked
    np.testing.assert_array_equal(near, order[:, :7])
    wanted = np.take_along_axis(known, order[:, :7], axis=1)
    np.testing.assert_allclose(scores, wanted, rtol=1e-5, atol=1e-5)


def test_exact_neighbours_of_some_are_those_of_all(rows, ranked):
    asked = np.array([3, 17, 400])
    found = exact_neighbours(rows, asked, 5)
    np.testing.assert_array_equal(np.sort(found), np.sort(ranked[1][asked, :5], axis=1))


def test_the_index_proposes_nearly_all_of_them_and_never_the_row_itself(rows, ranked):
    pytest.importorskip("faiss")
    near, _ = find_neighbours(rows, 7, search="index")
    hits = [
        len(np.intersect1d(a, b)) for a, b in zip(near, ranked[1][:, :7], strict=True)
    ]
    assert sum(hits) >= 0.98 * near.size
    assert not (near == np.arange(len(rows))[:, None]).any()


def test_the_index_that_looks_through_one_cell_misses_some(rows, ranked, monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(nearest, "PROBES", 1)
    near, _ = find_neighbours(rows, 7, search="index")
    hits = [
        len(np.intersect1d(a, b)) for a, b in zip(near, ranked[1][:, :7], strict=True)
    ]
    assert sum(hits) < near.size


@pytest.mark.parametrize("search", ["exact", "index"])
def test_threads_change_nothing(rows, search, monkeypatch):
    if search == "index":
        pytest.importorskip("faiss")
    monkeypatch.setattr(nearest, "_BLOCK", 64)
    monkeypatch.setattr(nearest, "_STEP", 100)
    one = find_neighbours(rows, 7, search=search, workers=1)
    four = find_neighbours(rows, 7, search=search, workers=4)
    np.testing.assert_array_equal(one[0], four[0])
    np.testing.assert_array_equal(one[1], four[1])


def test_few_rows_have_fewer_neighbours():
    rows = Rows(np.eye(3, 12, dtype=np.float32), PSI)
    near, _ = find_neighbours(rows, 10)
    assert np.sort(near, axis=1).tolist() == [[1, 2], [0, 2], [0, 1]]


def test_of_equal_scores_the_first_row_is_nearer():
    rows = Rows(np.zeros((4, 12), dtype=np.float32), PSI)
    near, _ = find_neighbours(rows, 3)
    assert near.tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]


def test_without_the_library_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError) as caught:
        load_faiss(60_000)
    assert str(caught.value) == (
        "clustering 60000 vectors across recordings needs an index of neighbours "
        "(above 50000), and faiss is not installed; install it with: "
        "pip install 'sms-diar[index]'"
    )
