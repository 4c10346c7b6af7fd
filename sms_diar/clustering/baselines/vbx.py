"""VBx: Bayesian clustering of x-vectors with a PLDA model.

Agglomerative clustering gives more speakers than there are; variational Bayes
then moves segments between them until those not needed are empty. See ``vb.py``
for the model.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sms_diar._validation import (
    check_count,
    check_not_negative,
    check_positive,
    check_real,
)
from sms_diar.clustering._modes import by_first_appearance
from sms_diar.clustering.agglomerate import link
from sms_diar.clustering.baselines._base import SpeakerBaseline
from sms_diar.clustering.baselines.vb import check_loop, soften, vb_mixture
from sms_diar.errors import InvalidParameterError
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.backend_plda import plda_of
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import IntArray

_EMPTY = 1e-7  # prior below which a speaker is dropped


class VbxSpeakers(SpeakerBaseline):
    """Variational Bayes over PLDA classes, started by agglomerative clustering.

    Parameters
    ----------
    backend : BackEnd
        Back end of kind "plda". None, which means cosine scoring, is an error, because
        the method is based on the PLDA model.
    Fa : float, default=1.0
        Weight of the data. One is right for segments that do not depend on each
        other; for windows of 1.44 s every 0.24 s the authors use 0.3.
    Fb : float, default=1.0
        Weight of the prior of the speakers; larger values leave fewer speakers. The
        authors use 17 with the windows above.
    loop_probability : float or None, default=None
        Probability that the next segment has the same speaker, for windows in
        temporal order (the authors use 0.99 with the windows above). None ignores the
        order.
    init_threshold : float, default=0.0
        Log-likelihood ratio at which average linkage stops. Speakers can vanish
        later but not appear, so it should rather be too high.
    init_smoothing : float, default=5.0
        Log odds of the first label of a segment against each other label.
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-4
        The run ends when the evidence bound rises by less than this.
    num_speakers, min_speakers, max_speakers : int or None, default=None
        Bounds on the number of clusters. Agglomerative clustering starts with
        `num_speakers`, or at least `min_speakers`; the bounds are enforced at the end,
        as by `SpeakerBaseline`.

    Attributes
    ----------
    responsibilities_ : ndarray of shape (n_segments, n_kept)
        Probability of each speaker whose prior is not zero. Columns are in the
        order of `labels_` if no bound had to be enforced, followed by speakers that
        are not the most probable speaker of any segment.
    priors_ : ndarray of shape (n_kept,)
        Their priors.
    elbo_ : ndarray of shape (n_iter,)
        Bound of the evidence after each iteration; it never falls.
    n_initial_ : int
        Number of speakers at the start.
    n_iter_ : int
        Number of iterations, equal to `n_steps_`.
    labels_, n_clusters_, k_, n_steps_, converged_, backend_, n_features_in_
        As for `SpeakerBaseline`.

    Notes
    -----
    O(n**2) time and memory for the start, O(n S D) for each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from sms_diar.clustering.baselines import VbxSpeakers
    >>> from sms_diar.preprocessing import FoldedChain
    >>> from sms_diar.scoring import build_backend
    >>> from sms_diar.synthetic import PldaWorld
    >>> world = PldaWorld(dim=20, eer=0.02)
    >>> chain = FoldedChain(np.eye(20), np.zeros(20))
    >>> session = world.draw_session(5, random_state=0)
    >>> backend = build_backend(chain, world.model)
    >>> VbxSpeakers(backend=backend).fit(session.X).n_clusters_
    5
    """

    _n_matrices = 3

    def __init__(
        self,
        *,
        backend: BackEnd | None = None,
        Fa: float = 1.0,
        Fb: float = 1.0,
        loop_probability: float | None = None,
        init_threshold: float = 0.0,
        init_smoothing: float = 5.0,
        max_iter: int = 200,
        tol: float = 1e-4,
        num_speakers: int | None = None,
        min_speakers: int | None = None,
        max_speakers: int | None = None,
    ) -> None:
        self.backend = backend
        self.Fa = Fa
        self.Fb = Fb
        self.loop_probability = loop_probability
        self.init_threshold = init_threshold
        self.init_smoothing = init_smoothing
        self.max_iter = max_iter
        self.tol = tol
        self.num_speakers = num_speakers
        self.min_speakers = min_speakers
        self.max_speakers = max_speakers

    def _check_limits(self) -> None:
        if self.backend is None or self.backend.kind != "plda":
            kind = "None, which scores by cosine"
            if self.backend is not None:
                kind = f"one of kind {self.backend.kind!r}"
            problem = (
                f"must hold a PLDA model, got {kind}; train one with train_backend, "
                f"or read one with backend_from_transform"
            )
            raise InvalidParameterError(problem, owner=self._name, parameter="backend")
        for name in ("Fa", "Fb"):
            check_positive(self._name, name, getattr(self, name))
        check_loop(self._name, self.loop_probability)
        check_real(self._name, "init_threshold", self.init_threshold)
        check_not_negative(self._name, "init_smoothing", self.init_smoothing)
        check_count(self._name, "max_iter", self.max_iter)
        check_not_negative(self._name, "tol", self.tol)

    def _label(self, terms: PairwiseTerms, backend: BackEnd) -> IntArray:
        psi = plda_of(backend).psi
        # Axes on which speakers do not differ say nothing, and have no gain.
        axes = backend.gain > 0.0
        # shapes: (n, D), (D,)
        F, psi = terms.U[:, axes] / backend.gain[axes], psi[axes]
        start = self._start(terms)
        self.n_initial_ = int(start.max()) + 1
        result = vb_mixture(
            F,
            psi,
            soften(start, self.init_smoothing),
            Fa=self.Fa,
            Fb=self.Fb,
            loop_probability=self.loop_probability,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        kept = np.flatnonzero(result.pi > _EMPTY)
        gamma = result.gamma[:, kept]  # shape: (n, n_kept)
        first_choice = kept[np.argmax(gamma, axis=1)]
        labels = by_first_appearance(first_choice)
        chosen = first_choice[np.unique(labels, return_index=True)[1]]
        order = np.concatenate([chosen, np.setdiff1d(kept, chosen)])
        self.responsibilities_ = result.gamma[:, order]
        self.responsibilities_ /= self.responsibilities_.sum(axis=1, keepdims=True)
        self.priors_ = result.pi[order] / result.pi[order].sum()
        self.elbo_ = result.elbo
        self.n_steps_ = self.n_iter_ = len(result.elbo)
        self.converged_ = result.converged
        if not result.converged:
            warnings.warn(
                f"{self._name}: the bound still rises after {self.n_steps_} "
                f"iterations (tol={self.tol:g}); raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=5,
            )
        return labels

    def _start(self, terms: PairwiseTerms) -> IntArray:
        tree = link(terms.matrix())
        count = max(tree.count_at(self.init_threshold), self.min_speakers or 1)
        return tree.labels_of(self.num_speakers or count)
