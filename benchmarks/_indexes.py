"""Indexes that could propose neighbours, side by side: why it is faiss.

All get the same places (`sms_diar.clustering.many.nearest` says how scores become
distances), propose sixteen neighbours of every row with two threads, and are judged by
how many of the ten of highest score are among them, for a thousand rows. One process
each, so that memory is measured separately.
"""

from __future__ import annotations

import importlib
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar.clustering.many import nearest
from sms_diar.clustering.many.nearest import Rows, exact_neighbours
from sms_diar.types import AnyArray

PROPOSED, WANTED = 16, 10
ASKED = 1000
BLOCK = 8192


def _places(rows: Rows) -> AnyArray:
    parts = [slice(i, i + BLOCK) for i in range(0, len(rows), BLOCK)]
    placed = [rows.placed(part) for part in parts]
    rest = np.concatenate([rest for _, rest in placed])
    lifted = np.sqrt(np.maximum(rest - rest.min(), 0.0))
    U = np.concatenate([U for U, _ in placed])
    return np.ascontiguousarray(np.column_stack((U, lifted)), dtype=np.float32)


def _ours(rows: Rows, clock: Callable[[], None]) -> AnyArray:
    index = nearest.build_index(rows, workers=2)
    clock()
    near, _ = nearest.ranked_neighbours(rows, index, PROPOSED, workers=2)
    return near


def _faiss_graph(rows: Rows, clock: Callable[[], None]) -> AnyArray:
    faiss = importlib.import_module("faiss")
    faiss.omp_set_num_threads(2)
    places = _places(rows)
    index = faiss.IndexHNSWFlat(places.shape[1], 16)
    index.hnsw.efConstruction, index.hnsw.efSearch = 200, 100
    index.add(places)
    clock()
    places[:, -1] = 0.0
    return np.asarray(index.search(places, PROPOSED + 1)[1])


def _hnswlib(rows: Rows, clock: Callable[[], None]) -> AnyArray:
    library = importlib.import_module("hnswlib")
    places = _places(rows)
    index = library.Index(space="l2", dim=places.shape[1])
    index.init_index(max_elements=len(places), M=16, ef_construction=200, random_seed=0)
    index.set_num_threads(2)
    index.add_items(places)
    clock()
    index.set_ef(100)
    places[:, -1] = 0.0
    return np.asarray(index.knn_query(places, k=PROPOSED + 1)[0]).astype(np.int64)


def _pynndescent(rows: Rows, clock: Callable[[], None]) -> AnyArray:
    library = importlib.import_module("pynndescent")
    index = library.NNDescent(
        _places(rows), n_neighbors=PROPOSED + 1, random_state=0, n_jobs=2
    )
    clock()
    return np.asarray(index.neighbor_graph[0])


INDEXES: dict[str, Callable[[Rows, Callable[[], None]], AnyArray]] = {
    "index: faiss, cells": _ours,
    "index: faiss, graph": _faiss_graph,
    "index: hnswlib": _hnswlib,
    "index: pynndescent": _pynndescent,
}


def _resident() -> float:
    """MiB of this process that are in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def measure_index(name: str, rows: Rows) -> dict[str, Any]:
    """Build, search and judge one index, in this process."""
    before, held = resource.getrusage(resource.RUSAGE_SELF), _resident()
    start = time.perf_counter()
    built: list[float] = []

    def clock() -> None:
        built.extend((time.perf_counter(), _resident()))

    near = INDEXES[name](rows, clock)
    end = time.perf_counter()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    asked = np.linspace(0, len(rows) - 1, ASKED).astype(np.int64)
    wanted = exact_neighbours(rows, asked, WANTED)
    hits = [
        len(np.intersect1d(near[row], true))
        for row, true in zip(asked, wanted, strict=True)
    ]
    cpu = usage.ru_utime + usage.ru_stime - before.ru_utime - before.ru_stime
    return {
        "cpu": cpu,
        "wall": end - start,
        "build": built[0] - start,
        "search": end - built[0],
        "held": built[1] - held,
        "recall": sum(hits) / wanted.size,
    }
