"""Very many embeddings of very many speakers, drawn by the law of a PLDA back end.

A segment is ``x = mean + speaker + residual`` with the covariances of the model inside
the back end, so what is drawn is as hard as the model believes its corpus to be. How
much speakers say differs by orders of magnitude: the number of their segments is drawn
evenly on a logarithmic scale.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sms_diar._random import as_generator
from sms_diar._validation import check_count
from sms_diar.errors import InvalidParameterError
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.backend_plda import plda_of
from sms_diar.types import FloatArray, IntArray, RandomState

_BLOCK = 50_000  # segments drawn at a time


class Crowd(NamedTuple):
    """Segments in random order.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32
        Raw embeddings.
    speakers : ndarray of shape (n,)
        Speaker of each row.
    """

    X: npt.NDArray[np.float32]
    speakers: IntArray


def draw_crowd(
    backend: BackEnd,
    n: int,
    *,
    fewest: int = 5,
    most: int = 500,
    random_state: RandomState = None,
) -> Crowd:
    """Draw `n` segments of speakers who say between `fewest` and `most` things each.

    Parameters
    ----------
    backend : BackEnd
        Of kind "plda", whose chain keeps all dimensions and has no offset.
    n : int
        Segments.
    fewest, most : int, default=5 and 500
        Segments of a speaker. The last one may have more than `most`, so that none
        has fewer than `fewest`.
    random_state : int, Generator, RandomState or None, default=None
        Source of the draws.
    """
    owner = "draw_crowd"
    check_count(owner, "fewest", fewest)
    check_count(owner, "n", n, least=fewest)
    check_count(owner, "most", most, least=fewest)
    model = plda_of(backend)
    back = _inverse(owner, backend) @ np.linalg.inv(model.transform)
    rng = as_generator(random_state)
    counts = _counts(n, fewest, most, rng)
    speakers = np.repeat(np.arange(len(counts)), counts)
    rng.shuffle(speakers)
    voices = np.sqrt(model.psi) * rng.standard_normal((len(counts), model.dim))
    X = np.empty((n, backend.dim), dtype=np.float32)
    origin = backend.center + _inverse(owner, backend) @ model.mean
    for first in range(0, n, _BLOCK):
        part = speakers[first : first + _BLOCK]
        rows = voices[part] + rng.standard_normal((len(part), model.dim))
        X[first : first + _BLOCK] = rows @ back.T + origin
    return Crowd(X, speakers)


def _counts(n: int, fewest: int, most: int, rng: np.random.Generator) -> IntArray:
    counts: list[int] = []
    left = n
    while left > 0:
        drawn = round(float(np.exp(rng.uniform(np.log(fewest), np.log(most)))))
        if left - drawn < fewest:
            drawn = left
        counts.append(drawn)
        left -= drawn
    return np.array(counts, dtype=np.int64)


def _inverse(owner: str, backend: BackEnd) -> FloatArray:
    """From what the PLDA model is about to states."""
    square = backend.matrix.shape[0] == backend.matrix.shape[1]
    if not square or backend.offset.any():
        raise InvalidParameterError(
            f"must keep all dimensions and add nothing, got one that maps "
            f"{backend.matrix.shape[1]} to {backend.matrix.shape[0]}",
            owner=owner,
            parameter="backend",
        )
    return np.asarray(np.linalg.inv(backend.matrix), dtype=np.float64)
