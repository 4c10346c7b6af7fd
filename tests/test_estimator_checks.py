"""scikit-learn's own checks, once for each class of estimators."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sms_diar import preprocessing
from sms_diar.clustering.baselines import VbxSpeakers
from sms_diar.clustering.methods import METHODS, POINT_METHODS
from sms_diar.clustering.speakers.evidence import SpeakerEvidenceMeanShift
from sms_diar.preprocessing import FoldedChain
from sms_diar.scoring import Plda, build_backend
from sms_diar.types import PldaModel

pytestmark = pytest.mark.contract


class AnyDimension:
    """Mixin that makes a PLDA model of the dimension of the data."""

    def fit(self, X, y=None):
        rows = None if hasattr(X, "toarray") else np.asarray(X)
        dim = rows.shape[1] if rows is not None and rows.ndim == 2 else 0
        dim = dim or 1
        chain = FoldedChain(np.eye(dim), np.zeros(dim), in_length=np.sqrt(10.0 * dim))
        plda = PldaModel(np.zeros(dim), np.eye(dim), np.full(dim, 10.0))
        given, self.backend = self.backend, build_backend(chain, plda)
        try:
            return super().fit(X, y)
        finally:
            self.backend = given


class AnyDimensionVbx(AnyDimension, VbxSpeakers):
    """VBx for any dimension."""


class AnyDimensionEvidence(AnyDimension, SpeakerEvidenceMeanShift):
    """The default with a PLDA model, for any dimension."""


def estimators():
    methods = [*METHODS.values(), *POINT_METHODS.values()]
    classes = dict.fromkeys(method.load() for method in methods)
    yield AnyDimensionEvidence(random_state=0)
    for kind in (AnyDimensionVbx if kind is VbxSpeakers else kind for kind in classes):
        seeded = "random_state" in kind().get_params()
        yield kind(random_state=0) if seeded else kind()
    for name in ("Center", "LengthNorm", "Pca", "RecordingPca", "Whiten", "Lda"):
        yield getattr(preprocessing, name)()
    yield preprocessing.Wccn()
    yield Plda()


@parametrize_with_checks(list(estimators()))
def test_follows_scikit_learn_conventions(estimator, check):
    check(estimator)
