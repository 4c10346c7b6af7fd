"""I-vectors of extractors that were trained in Kaldi, and models for Kaldi.

As in ``sid/extract_ivectors.sh``, a mixture with diagonal covariances selects a few
Gaussians for each frame (``gmm-gselect``), a mixture with full covariances computes
their posteriors, of which small ones are dropped (``fgmm-global-gselect-to-post``), and
the extractor computes the i-vector from the sums of the frames (``ivector-extract``).

In Kaldi, the mean of component c is ``M_c x`` for an x with the prior mean
``(offset, 0, ..., 0)``, and the i-vector is x relative to this mean. With
``w = x - (offset, 0, ..., 0)``, this is a `TotalVariability` model with ``T_c = M_c``
and the means ``offset M_c[:, 0]``.

If the extractor has a projection W, the weights of the components are ``softmax(W x)``.
Their log-likelihood is not quadratic in x. With the counts N_c of the frames and
``N = sum_c N_c`` it is approximated at the current x by

    (1)  n_c = N softmax(W x)_c                       expected counts
    (2)  h_c = max(N_c, n_c)                          curvature
    (3)  b + W' (N_c - n_c + h_c (W x)_c)             linear term
    (4)  L + W' diag(h) W                             precision

where b and L are the terms of the means and of the prior. This is repeated from the
solution without weights until x moves by less than 0.1, at most four times.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from sms_diar._validation import check_count, check_positive
from sms_diar.embeddings.extractor import Batch, FrameExtractor, IvectorExtractor
from sms_diar.embeddings.mixture import (
    BLOCK,
    GaussianMixture,
    by_component,
    check_frames,
)
from sms_diar.embeddings.statistics import Statistics
from sms_diar.embeddings.total_variability import TotalVariability
from sms_diar.errors import InvalidParameterError
from sms_diar.io.kaldi.ivector_models import (
    KaldiExtractor,
    KaldiMixture,
    inverses_of,
)
from sms_diar.io.model import ModelFile
from sms_diar.types import AnyArray, FloatArray, IntArray

_OWNER = "KaldiIvectorExtractor"
_ITERATIONS = 4  # at most, of the approximation of the weights
_SMALL_CHANGE = 0.1  # of x, at which they end
_OFFSET = 1e6  # prior mean of exported models; see `kaldi_models`


@dataclass(frozen=True, eq=False)
class KaldiIvectorExtractor(FrameExtractor):
    """Extractor of i-vectors with models of Kaldi.

    Parameters
    ----------
    extractor : KaldiExtractor
        Content of ``final.ie``.
    ubm : KaldiMixture
        Mixture with full covariances, ``final.ubm``.
    selector : KaldiMixture, optional
        Mixture with diagonal covariances that selects Gaussians, ``final.dubm``; by
        default `ubm` without its correlations, as in Kaldi's recipes.
    num_gselect : int, default=20
        Number of Gaussians that are selected for each frame.
    min_post : float, default=0.025
        Smaller posteriors are dropped, and the others scaled to the sum 1.
    posterior_scale : float, default=1.0
        Factor of the posteriors.
    front_end : mapping
        Settings of the front end as plain JSON values, for the fingerprint.
    """

    extractor: KaldiExtractor
    ubm: KaldiMixture
    selector: KaldiMixture | None = None
    num_gselect: int = 20
    min_post: float = 0.025
    posterior_scale: float = 1.0
    front_end: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_count(_OWNER, "num_gselect", self.num_gselect)
        check_positive(_OWNER, "posterior_scale", self.posterior_scale)
        if not 0.0 <= self.min_post < 1.0:
            problem = f"must be in [0, 1), got {self.min_post!r}"
            raise InvalidParameterError(problem, owner=_OWNER, parameter="min_post")
        if not self.ubm.is_full or self._selector.is_full:
            raise InvalidParameterError(
                "ubm must have full and selector must have diagonal covariances, got "
                "the opposite; final.ubm and final.dubm may be interchanged",
                owner=_OWNER,
            )
        shape = self.extractor.matrices.shape[:2]
        for name, mixture in (("ubm", self.ubm), ("selector", self._selector)):
            if mixture.linear.shape != shape:
                raise InvalidParameterError(
                    f"must have the {shape[0]} Gaussians and {shape[1]} dimensions of "
                    f"the extractor, got {mixture.linear.shape}",
                    owner=_OWNER,
                    parameter=name,
                )

    @cached_property
    def _selector(self) -> KaldiMixture:
        return self.ubm.diagonal() if self.selector is None else self.selector

    @property
    def dim(self) -> int:
        """Dimension of the i-vectors."""
        return int(self.extractor.matrices.shape[2])

    @property
    def frame_dim(self) -> int:
        """Dimension of the frames."""
        return int(self.extractor.matrices.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify everything the vectors depend on."""
        settings = [self.num_gselect, self.min_post, self.posterior_scale]
        models: dict[str, KaldiExtractor | KaldiMixture] = {
            "extractor": self.extractor,
            "ubm": self.ubm,
            "selector": self._selector,
        }
        arrays: dict[str, AnyArray] = {
            f"{name}_{part.name}": np.asarray(getattr(model, part.name))
            for name, model in models.items()
            for part in fields(model)
        }
        arrays["settings"] = np.array(json.dumps([settings, dict(self.front_end)]))
        return ModelFile("kaldi-ivectors", arrays, {}).fingerprint

    @cached_property
    def mixtures(self) -> tuple[GaussianMixture, GaussianMixture]:
        """Mixtures that select Gaussians and that compute their posteriors."""
        return _mixture(self._selector), _mixture(self.ubm)

    @cached_property
    def model(self) -> TotalVariability:
        """Model of the means."""
        extractor = self.extractor
        means = extractor.offset * extractor.matrices[:, :, 0]
        covariances = inverses_of(extractor.precisions)
        mixture = GaussianMixture(self.mixtures[1].weights, means, covariances)
        return TotalVariability(extractor.matrices, means, mixture)

    def prepare(self) -> None:
        """Compute cached values that are shared by threads."""
        self.model.prepare()
        for mixture in self.mixtures:
            _ = mixture.whitening
            mixture.log_densities(np.zeros((1, self.frame_dim)))

    def solve(self, batch: Batch) -> tuple[tuple[str, ...], FloatArray]:
        """Return ids and i-vectors of a few segments."""
        statistics = self.statistics(batch)
        if self.extractor.has_weight_projection:
            return statistics.ids, self._solve_with_weights(statistics)
        return statistics.ids, self.model.solve(statistics)

    def statistics(self, batch: Batch) -> Statistics:
        """Compute statistics of a few segments in the current thread."""
        shape = self.model.means.shape
        zeroth = np.zeros((len(batch), shape[0]))
        first = np.zeros((len(batch), *shape))
        for row, (name, frames) in enumerate(batch):
            check_frames(_OWNER, frames, shape[1], f"frames of {name!r}")
            for start in range(0, len(frames), BLOCK):
                X = np.asarray(frames[start : start + BLOCK], dtype=np.float64)
                chosen, posteriors = self.posteriors(X)
                k = chosen.shape[1]
                weights = posteriors.ravel()
                for c, entries in by_component(chosen, shape[0]):
                    zeroth[row, c] += weights[entries].sum()
                    first[row, c] += weights[entries] @ X[entries // k]
        return Statistics(tuple(name for name, _ in batch), zeroth, first)

    def posteriors(self, X: FloatArray) -> tuple[IntArray, FloatArray]:
        """Select k Gaussians for each frame; return them and their posteriors.

        `X` has shape (n, d), and at most `BLOCK` rows; both results have shape (n, k).
        """
        selector, ubm = self.mixtures
        k = min(self.num_gselect, selector.n_components)
        rest = selector.n_components - k
        chosen: IntArray = np.argpartition(selector.log_densities(X), rest - 1, axis=1)
        chosen = chosen[:, rest:]
        joint = ubm.log_densities_of(X, chosen)
        posteriors: FloatArray = np.exp(joint - joint.max(axis=1, keepdims=True))
        posteriors /= posteriors.sum(axis=1, keepdims=True)
        if self.min_post:
            is_small = posteriors < float(np.float32(self.min_post))
            # The largest remains, also if all are small.
            is_small[np.arange(len(X)), posteriors.argmax(axis=1)] = False
            posteriors[is_small] = 0.0
            posteriors /= posteriors.sum(axis=1, keepdims=True)
        return chosen, self.posterior_scale * posteriors

    def _solve_with_weights(self, statistics: Statistics) -> FloatArray:
        model, offset = self.model, self.extractor.offset
        precisions = model.precisions(statistics.zeroth)  # L, shape: (n, r, r)
        linear = model.white_first(statistics) @ model.white_matrix
        linear += offset * precisions[:, :, 0]  # of x instead of w, shape: (n, r)
        vectors = np.empty(linear.shape)
        parts = zip(precisions, linear, statistics.zeroth, strict=True)
        for row, (precision, b, counts) in enumerate(parts):
            vectors[row] = self._weighted(precision, b, counts)
        vectors[:, 0] -= offset
        return vectors

    def _weighted(
        self, precision: FloatArray, linear: FloatArray, counts: FloatArray
    ) -> FloatArray:
        """Find x of one segment; see the notation at the top of this file."""
        W, total = self.extractor.weights, counts.sum()
        x = np.linalg.solve(precision, linear)
        for _ in range(_ITERATIONS):
            logs = W @ x
            shares = np.exp(logs - logs.max())
            expected = total * shares / shares.sum()  # (1)
            curvature = np.maximum(counts, expected)  # (2)
            shifted = linear + W.T @ (counts - expected + curvature * logs)  # (3)
            previous = x
            x = np.linalg.solve(precision + (W.T * curvature) @ W, shifted)  # (4)
            if np.linalg.norm(x - previous) < _SMALL_CHANGE:
                break
        return np.asarray(x, dtype=np.float64)


def _mixture(mixture: KaldiMixture) -> GaussianMixture:
    return GaussianMixture(mixture.weights, mixture.means, mixture.covariances)


def kaldi_models(
    extractor: IvectorExtractor,
) -> tuple[KaldiExtractor, KaldiMixture, KaldiMixture]:
    """Convert an extractor of this package to ``final.ie``, ``.ubm`` and ``.dubm``.

    In Kaldi, the means for ``w = 0`` are a multiple of the first column of M, whose
    factor varies around `offset` with variance 1. The result has therefore one
    dimension more. With a large offset, the first coordinate of the i-vectors is almost
    zero, and the others are the i-vectors of `extractor`.
    """
    model = extractor.model
    mixture = model.mixture
    diagonal = KaldiMixture.of(mixture.weights, mixture.means, mixture.covariances)
    full = diagonal
    if mixture.is_full:
        diagonal = full.diagonal()
    else:
        matrices = mixture.covariances[:, :, None] * np.eye(mixture.dim)
        full = KaldiMixture.of(mixture.weights, mixture.means, matrices)
    columns = (model.means[:, :, None] / _OFFSET, model.matrix)
    return (
        KaldiExtractor(
            np.concatenate(columns, axis=2), full.precisions, mixture.weights, _OFFSET
        ),
        full,
        diagonal,
    )
