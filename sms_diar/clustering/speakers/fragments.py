"""Default clustering without a trained model.

Stochastic mean shift proposes pure fragments in a space that is learnt from the session
(`space`), and fragments are merged while two are more likely one speaker than not
(`merging`). ``docs/how/default.md`` explains the steps.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning

from sms_diar._random import as_generator
from sms_diar.clustering._modes import by_first_appearance
from sms_diar.clustering.speakers.base import TimedEstimator
from sms_diar.clustering.speakers.blocks import BLOCK, cluster_blocks
from sms_diar.clustering.speakers.bounds import reach_bounds
from sms_diar.clustering.speakers.mean_shift import SpeakerStochasticMeanShift
from sms_diar.clustering.speakers.merging import (
    MANY_ROWS,
    Clusters,
    Merged,
    merge_fragments,
)
from sms_diar.clustering.speakers.rows import (
    Representatives,
    RowTimes,
    chunks,
    estimate_row_weight,
    find_representatives,
    sum_rows,
)
from sms_diar.clustering.speakers.space import SessionSpace, learn_space
from sms_diar.preprocessing import FoldedChain, scale_rows
from sms_diar.scoring.backend import BackEnd, build_backend
from sms_diar.scoring.backend_plda import model_space, phi_of
from sms_diar.types import AnyArray, FloatArray, IntArray

NEIGHBOURS = 8
"""Neighbours of a row in the run that proposes fragments."""

MAX_NEIGHBOUR_SHARE = 0.15
"""Maximum number of neighbours, as a share of the rows."""

GATE = 0.6
"""Minimum score of a neighbour, as a share of the score of the row with itself."""

ALWAYS_NEIGHBOURS = 2
"""Best neighbours that pass the gate in any case."""

MIN_ROWS = 4
"""Distinct rows below which a session is one speaker."""

CERTAINTY = (-3.0, -0.94, 1.88, 1.49, -3.97)
"""Log odds that the number of speakers is right: constant, and weights of the four
values of `number_evidence`; estimated by `scripts/fit-merging`."""

BRIEF = 90.0
"""Seconds of speech in a recording below which speakers are likely to be missed."""

TRUST = (0.82, 0.67)
"""Log odds that a label is right: constant, and weight of the sum of `nearness` and the
log odds of the number of speakers; estimated by `scripts/fit-merging`."""

# Limits of memory and time. Long sessions use the first axes only.
_COORDINATES = 300_000  # Maximum number of rows times axes in a run.
_LONG_MEMORY = 2**30  # Bytes of the scores of very many rows and clusters.


class SpeakerFragmentMeanShift(TimedEstimator):
    """Mean-shift fragments, merged while they are probably one speaker.

    It needs neither a trained model nor settings: the space in which rows are compared
    is learnt from the session.

    Parameters
    ----------
    backend : BackEnd or None, default=None
        A cosine back end transforms the rows first; None uses their directions. A PLDA
        model provides the first space of more than 7,500 rows of several recordings.
    row_weight : float or "auto", default="auto"
        Number of independent observations per row, below 1 for windows that overlap.
        "auto" computes it from the times given to ``fit``, or estimates it from rows in
        order of time.
    num_speakers, min_speakers, max_speakers : int or None, default=None
        Bounds on the number of clusters.
    random_state : int, Generator, RandomState or None, default=None
        Random seed. An int makes the labels reproducible.

    Attributes
    ----------
    labels_ : ndarray of shape (n_segments,)
        Speaker of each segment, numbered from 0 by first appearance.
    n_clusters_ : int
        Number of speakers found.
    backend_ : BackEnd
        Back end that was used.
    confidence_ : ndarray of shape (n_segments,)
        Probability that the label of each segment is right.
    count_posterior_ : dict from int to float
        Probability of the number of speakers found, and of one more and one less.
    row_weight_ : float
        Number of independent observations per row.
    independent_rows_ : ndarray of shape (m,)
        Indices of rows that neither overlap in time nor repeat each other.
    k_ : int
        Number of neighbours; 0 if there were too few rows.
    n_steps_ : int
        Number of moves of single segments.
    converged_ : bool
        Always True: fragments need not be at rest.
    n_features_in_ : int
        Number of columns of the data.

    See Also
    --------
    SpeakerEvidenceMeanShift : The default if there is a trained PLDA model.

    Notes
    -----
    More than 7,500 rows are clustered in blocks, of consecutive rows in one recording
    and of similar rows otherwise. Memory grows linearly with their number; reassignment
    to g speakers takes O(n g d) operations, and merging O(g^2 d).

    Examples
    --------
    >>> import numpy as np
    >>> from sms_diar.clustering import SpeakerFragmentMeanShift
    >>> rng = np.random.default_rng(0)
    >>> speakers = np.repeat(rng.standard_normal((4, 20)), [30, 20, 10, 5], axis=0)
    >>> X = speakers + 0.3 * rng.standard_normal((65, 20))
    >>> SpeakerFragmentMeanShift(random_state=0).fit(X).n_clusters_
    4
    """

    without_backend: ClassVar[str] = "no model: space and noise learnt from the session"

    def long_memory(self, n: int, dim: int) -> int | None:
        """Return the bytes for n rows: three copies in single precision, and scores."""
        return 12 * n * dim + 200 * n + _LONG_MEMORY if _is_long(n) else None

    def _default_backend(self, X: FloatArray) -> BackEnd:
        """Use the directions of the rows."""
        d = X.shape[1]
        return build_backend(FoldedChain(np.eye(d), np.zeros(d), in_length=1.0))

    def _estimated_row_weight(self, X: FloatArray) -> float:
        return estimate_row_weight(self._directions(X[: 10 * BLOCK]))

    def _directions(self, X: FloatArray) -> FloatArray:
        return scale_rows(phi_of(self.backend_, X))

    def _fit_in_time(self, X: FloatArray, times: RowTimes | None) -> None:
        n = len(X)
        low, high = self._bounds(n)
        directions = _mapped(X, self._directions)  # shape: (n, d)
        chosen = find_representatives(directions, times, self.row_weight_)
        self.independent_rows_ = chosen.rows[:: round(1.0 / chosen.new_speech)]
        self._space: SessionSpace | None = None
        self._to_rows = self._directions
        self.k_, self.n_steps_, self.converged_ = 0, 0, True
        if len(chosen.rows) < MIN_ROWS:
            labels = np.zeros(n, dtype=np.int64)
            posterior = {1: 1.0} if n == 1 else {1: 0.6, 2: 0.4}
            confidence = np.full(n, posterior[1])
        else:
            in_order = times is not None and times.n_recordings == 1
            many = _is_long(len(chosen.rows)) and not in_order
            fit = self._fit_blocks if many else self._fit_in_order
            merged, near = fit(X, directions, chosen, times, low, high)
            posterior = count_posterior(merged, brevity(times), chosen.weights)
            trust = _confidence(near, posterior)
            labels, confidence = merged.labels[chosen.of], trust[chosen.of]
        if not low <= int(labels.max()) + 1 <= high:
            terms = self.backend_.features(self.backend_.prepare(X))
            labels = reach_bounds(terms, labels, low, high)
        self.labels_ = by_first_appearance(labels)
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.confidence_ = confidence
        self.count_posterior_ = _within_bounds(posterior, low, high, self.n_clusters_)
        rows = directions
        if self._to_rows != self._directions:
            rows = _mapped(X, self._to_rows)
        sizes = np.bincount(self.labels_)[:, None]
        self._means = self._project(sum_rows(self.labels_, rows) / sizes)

    def _fit_in_order(
        self,
        X: FloatArray,
        directions: FloatArray,
        chosen: Representatives,
        times: RowTimes | None,
        low: int,
        high: int,
    ) -> tuple[Merged, FloatArray]:
        """Cluster the representatives; return speakers and `nearness`.

        Fragments of a long recording are the speakers of its parts.
        """
        vectors = phi_of(self.backend_, X)[chosen.rows]  # shape: (m, d)
        kept = np.asarray(directions[chosen.rows], dtype=np.float64)
        kept_times = None if times is None else times.take(chosen.rows)
        self._space = learn_space(kept, kept_times)
        self._tell(0.1)
        places = self._space.project(kept)  # shape: (m, q)
        rng = as_generator(self.random_state)
        fragments = np.empty(len(kept), dtype=np.int64)
        n_found = 0
        parts = np.array_split(np.arange(len(kept)), _n_blocks(len(kept)))
        for number, part in enumerate(parts, start=1):
            backend = self._space.backend(max(2, _COORDINATES // len(part)))
            labels = self._shift(vectors[part], backend, chosen.new_speech, rng)
            if len(parts) > 1:
                clusters = Clusters.of(
                    places[part], kept[part], labels, chosen.weights[part]
                )
                labels = merge_fragments(clusters, 1, len(part)).labels[labels]
            fragments[part] = n_found + labels
            n_found += int(labels.max()) + 1
            self._tell(0.1 + 0.6 * number / len(parts))
        clusters = Clusters.of(places, kept, fragments, chosen.weights)
        merged = merge_fragments(
            clusters, low, high, lambda x: self._tell(0.7 + 0.3 * x)
        )
        merged = merged._replace(labels=merged.labels[fragments])
        return merged, nearness(places, merged.labels)

    def _fit_blocks(
        self,
        X: FloatArray,
        directions: AnyArray,
        chosen: Representatives,
        times: RowTimes | None,
        low: int,
        high: int,
    ) -> tuple[Merged, FloatArray]:
        """Cluster very many representatives in blocks of similar ones."""
        directions = rows = _taken(directions, chosen.rows)
        space: SessionSpace | None = None
        length: float | None = 1.0
        if self.backend_.kind == "plda":
            model = model_space(self.backend_)
            self._to_rows, length = model.vectors, None
            rows = _taken(_mapped(X, model.vectors), chosen.rows)
            space = SessionSpace(
                rows.mean(axis=0, dtype=np.float64), np.eye(len(model.psi)), model.psi
            )
        rng = as_generator(self.random_state)

        def shift(space: SessionSpace, block: IntArray) -> IntArray:
            backend = space.backend(max(2, _COORDINATES // len(block)), length)
            part = rows[block].astype(np.float64)
            return self._shift(part, backend, chosen.new_speech, rng)

        merged, self._space = cluster_blocks(
            rows, directions, chosen.weights, space, shift, low, high, rng, self._tell
        )
        sizes = np.bincount(merged.labels).astype(np.float64)
        means = self._space.project(sum_rows(merged.labels, rows) / sizes[:, None])
        near = [
            nearness(self._space.project(rows[part]), merged.labels[part], means, sizes)
            for part in chunks(len(rows))
        ]
        return merged, np.concatenate(near)

    def _shift(
        self,
        vectors: FloatArray,
        backend: BackEnd,
        new_speech: float,
        rng: np.random.Generator,
    ) -> IntArray:
        """Run gated stochastic mean shift with the back end of a space.

        The nearest neighbours of overlapping windows share their speech, so numbers of
        neighbours are divided by the share of new speech.
        """
        n = len(vectors)
        limit = max(2, int(MAX_NEIGHBOUR_SHARE * n))
        k = min(round(NEIGHBOURS / new_speech), limit)
        run = SpeakerStochasticMeanShift(
            backend=backend,
            k=k,
            gate=GATE,
            gate_least=min(round(ALWAYS_NEIGHBOURS / new_speech), max(2, k // 2)),
            tol=1e-2,
            max_steps=15 * n,
            random_state=rng.spawn(1)[0],
        )
        with warnings.catch_warnings():
            # Fragments need not be quite at rest.
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels: IntArray = run.fit(vectors).labels_
        self.n_steps_ += run.n_steps_
        self.k_ = max(self.k_, k)
        return labels

    def _project(self, directions: FloatArray) -> FloatArray:
        return directions if self._space is None else self._space.project(directions)

    def _assign(self, X: FloatArray) -> IntArray:
        """Assign each row to the speaker with the nearest mean."""
        places = self._project(self._to_rows(X))
        # Row by row, so that the result does not depend on other rows.
        nearest = [
            int(np.argmin(np.sum((self._means - place) ** 2, axis=1)))
            for place in places
        ]
        return np.array(nearest, dtype=np.int64)


def brevity(times: RowTimes | None) -> float:
    """Return the log of the seconds of speech as a share of `BRIEF`, at most 0.

    The result is 0 without times, because segments need not be a whole recording.
    """
    if times is None:
        return 0.0
    return float(np.log(min(max(times.covered() / BRIEF, 1e-3), 1.0)))


def number_evidence(
    merged: Merged, brevity: float = 0.0, weights: FloatArray | None = None
) -> tuple[float, ...]:
    """Measure how clear the number of speakers is; see `CERTAINTY`.

    Returns the log odds of the most probable merge that was not made, which matter down
    to a probability of 0.05; the log size of the smallest cluster, up to `MANY_ROWS`;
    the `brevity`; and the expected number of wrong merges per speaker, as log(1 + x).
    `weights` of the rows, shape (n,), are 1 by default.
    """
    sizes = np.bincount(merged.labels, weights)
    not_made = logit(np.clip(merged.refused, 0.05, 0.95))
    smallest = np.log(min(sizes.min(), MANY_ROWS))
    wrong = np.log1p(merged.wrong / len(sizes))
    return float(not_made), float(smallest), brevity, float(wrong)


def count_posterior(
    merged: Merged, brevity: float = 0.0, weights: FloatArray | None = None
) -> dict[int, float]:
    """Return the probability of each number of speakers.

    `CERTAINTY` gives the probability of the number found. The rest is shared by its
    neighbours: one speaker fewer means that the next merge should have been made, at
    its odds; one more, that the least probable merge should not have been.
    """
    n_found = int(merged.labels.max()) + 1
    fewer, more = _odds(merged.refused), _odds(1.0 - merged.weakest)
    if fewer + more <= 0.0:
        return {n_found: 1.0}
    constant, *slopes = CERTAINTY
    certainty = float(
        expit(constant + np.dot(slopes, number_evidence(merged, brevity, weights)))
    )
    share = (1.0 - certainty) / (fewer + more)
    posterior = {
        n_found - 1: share * fewer,
        n_found: certainty,
        n_found + 1: share * more,
    }
    return {n: probability for n, probability in posterior.items() if probability > 0.0}


def _odds(probability: float) -> float:
    return probability / max(1.0 - probability, 1e-12)


def _within_bounds(
    posterior: Mapping[int, float], low: int, high: int, n_found: int
) -> dict[int, float]:
    """Restrict a posterior to numbers between the bounds."""
    kept = {n: p for n, p in posterior.items() if low <= n <= high}
    total = sum(kept.values())
    if n_found not in kept or total <= 0.0:
        return {n_found: 1.0}
    return {n: p / total for n, p in kept.items()}


def nearness(
    places: FloatArray,
    labels: IntArray,
    means: FloatArray | None = None,
    sizes: FloatArray | None = None,
) -> FloatArray:
    """Compare the distances of rows to their own speaker and to the next one.

    Returns the log ratio of squared distances, shape (n,): positive if the own speaker
    is nearer. A row is excluded from the mean of its own speaker; alone, its ratio is
    1. With one speaker, the result is 1 for all rows. `means` and `sizes` of the
    speakers are given if the rows are a part of the session.
    """
    if means is None or sizes is None:
        sizes = np.bincount(labels).astype(np.float64)
        means = sum_rows(labels, places) / sizes[:, None]
    if len(sizes) == 1:
        return np.ones(len(places))
    energy = np.sum(means**2, axis=1)
    distances = np.sum(places**2, axis=1)[:, None] + energy - 2.0 * places @ means.T
    rows, n_others = np.arange(len(places)), sizes[labels] - 1.0
    # The mean of the others is farther away than the mean of all by n / (n - 1).
    scale = ((n_others + 1.0) / np.maximum(n_others, 1.0)) ** 2
    to_own = distances[rows, labels] * scale
    distances[rows, labels] = np.inf
    to_next = np.maximum(distances.min(axis=1), 1e-12)
    log = np.log(np.clip(to_next / np.maximum(to_own, 1e-12), 1e-3, 1e3))
    log[n_others == 0.0] = 0.0
    return np.asarray(log)


def _confidence(near: FloatArray, posterior: Mapping[int, float]) -> FloatArray:
    """Return the probability that each label is right."""
    certainty = logit(np.clip(max(posterior.values()), 0.01, 0.99))
    constant, slope = TRUST
    return np.asarray(expit(constant + slope * (near + certainty)))


def _n_blocks(n: int) -> int:
    """Return the number of blocks in which fragments of n rows are proposed."""
    return max(1, round(n / BLOCK))


def _is_long(n: int) -> bool:
    """Return True if n rows are clustered in several blocks."""
    return _n_blocks(n) > 1


def _mapped(X: FloatArray, mapping: Callable[[FloatArray], FloatArray]) -> AnyArray:
    """Map all rows; those of long sessions are stored in single precision."""
    if not _is_long(len(X)):
        return mapping(X)
    first = mapping(X[:1])
    mapped = np.empty((len(X), first.shape[1]), dtype=np.float32)
    for part in chunks(len(X)):
        mapped[part] = mapping(X[part])
    return mapped


def _taken(rows: AnyArray, indices: IntArray) -> AnyArray:
    """Select rows, without a copy if all are selected."""
    return rows if len(indices) == len(rows) else rows[indices]
