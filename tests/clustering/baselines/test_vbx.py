"""VBx: its features, its answer on a real meeting, what it keeps and drops."""

import bisect

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from sms_diar.clustering.baselines import AgglomerativeSpeakers, VbxSpeakers
from sms_diar.clustering.baselines.vb import soften, vb_mixture
from sms_diar.errors import InvalidParameterError
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.kaldi.plda import read_plda
from sms_diar.io.kaldi.tables import read_segments
from sms_diar.io.kaldi.transform import read_transform
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.preprocessing import FoldedChain
from sms_diar.scoring import backend_from_transform, build_backend, project
from sms_diar.synthetic import PldaWorld
from sms_diar.types import PldaModel

WORLD = PldaWorld(dim=30, eer=0.05)


def world_backend(world=WORLD):
    chain = FoldedChain(np.eye(world.dim), np.zeros(world.dim))
    return build_backend(chain, world.model)


def test_segments_are_projected_into_the_space_of_the_model():
    X = WORLD.draw_session(5, random_state=0).X
    model = VbxSpeakers(backend=world_backend()).fit(X)
    start = AgglomerativeSpeakers(backend=world_backend()).fit_predict(X)
    want = vb_mixture(
        project(WORLD.model, X), WORLD.psi, soften(start), max_iter=200, tol=1e-4
    )
    np.testing.assert_allclose(model.elbo_, want.elbo, rtol=1e-9)
    assert model.n_initial_ == start.max() + 1
    assert model.n_steps_ == len(want.elbo)
    assert (np.diff(model.elbo_) >= 0.0).all()


def test_labels_are_the_likeliest_speakers_in_the_order_of_the_columns():
    X = WORLD.draw_session(6, random_state=1).X
    model = VbxSpeakers(backend=world_backend()).fit(X)
    np.testing.assert_array_equal(model.responsibilities_.argmax(axis=1), model.labels_)
    np.testing.assert_allclose(model.responsibilities_.sum(axis=1), 1.0)
    assert model.priors_.sum() == pytest.approx(1.0)
    assert len(model.priors_) == model.responsibilities_.shape[1]


def test_moving_segments_improves_on_the_start():
    X, truth, _ = PldaWorld(dim=30, eer=0.15).draw_session(10, random_state=0)
    backend = world_backend(PldaWorld(dim=30, eer=0.15))
    start = AgglomerativeSpeakers(backend=backend).fit_predict(X)
    moved = VbxSpeakers(backend=backend).fit_predict(X)
    assert adjusted_rand_score(truth, moved) > adjusted_rand_score(truth, start)


def test_a_heavier_prior_leaves_fewer_speakers():
    X, truth, _ = WORLD.draw_session(6, random_state=2)
    found = [
        VbxSpeakers(backend=world_backend(), Fb=Fb, init_threshold=20.0)
        .fit(X)
        .n_clusters_
        for Fb in (0.2, 3.0, 1000.0)
    ]
    assert found[0] > found[1] > found[2] == 1
    assert found[1] == len(set(truth.tolist()))


def test_speakers_without_prior_are_dropped():
    X = WORLD.draw_session(6, random_state=2).X
    model = VbxSpeakers(backend=world_backend(), Fb=3.0, init_threshold=20.0).fit(X)
    assert model.n_initial_ > len(model.priors_) >= model.n_clusters_
    assert model.priors_.min() > 1e-7


def test_axes_on_which_speakers_do_not_differ_are_of_no_account():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 15)
    X = np.column_stack([np.where(truth, 6.0, -6.0), np.zeros(30)])
    X += rng.standard_normal((30, 2))
    chain = FoldedChain(np.eye(2), np.zeros(2))
    plda = PldaModel(np.zeros(2), np.eye(2), np.array([30.0, 0.0]))
    model = VbxSpeakers(backend=build_backend(chain, plda), init_threshold=1.0)
    here = model.fit(X)
    bounds = here.elbo_
    np.testing.assert_array_equal(here.labels_, truth)
    X[:, 1] += rng.standard_normal(30) * 50.0
    np.testing.assert_allclose(model.fit(X).elbo_, bounds)


def test_warns_with_a_remedy_when_the_limit_is_hit():
    X = WORLD.draw_session(6, random_state=1).X
    with pytest.warns(ConvergenceWarning) as caught:
        model = VbxSpeakers(backend=world_backend(), max_iter=1).fit(X)
    assert caught[0].filename == __file__
    assert str(caught[0].message) == (
        "VbxSpeakers: the bound still rises after 1 iterations (tol=0.0001); raise "
        "max_iter or tol"
    )
    assert caught[0].filename == __file__
    assert not model.converged_


@pytest.mark.corpus
def test_a_real_meeting_gets_the_answer_of_the_authors(corpus_data):
    # Their settings: windows in order, Fa 0.3, Fb 17, loop 0.99. Their start is
    # another one (cosine), the answer is nevertheless the same window by window.
    folder = corpus_data / "ami-es2005a"
    embeddings = read_embeddings(folder / "xvectors.ark")
    backend = backend_from_transform(
        read_transform(folder / "transform.npz"),
        read_plda(folder / "plda"),
        embeddings.dim,
    )
    model = VbxSpeakers(backend=backend, Fa=0.3, Fb=17.0, loop_probability=0.99)
    model.fit(embeddings.vectors)
    answer = sorted(read_rttm(folder / "vbx.rttm"))
    starts = [turn.segment.start for turn in answer]
    windows = read_segments(folder / "segments")
    middles = [(windows[i].start + windows[i].end) / 2.0 for i in embeddings.ids]
    theirs = [answer[bisect.bisect(starts, t) - 1].speaker for t in middles]
    assert adjusted_rand_score(theirs, model.labels_) == 1.0
    assert model.n_initial_ > model.n_clusters_ == 5


@pytest.mark.parametrize("kind", ["none", "cosine"])
def test_a_plda_model_is_needed(kind):
    cosine = build_backend(FoldedChain(np.eye(3), np.zeros(3), in_length=1.0))
    model = VbxSpeakers(backend=None if kind == "none" else cosine)
    with pytest.raises(InvalidParameterError, match=f"(?i)PLDA model, got .*{kind}"):
        model.fit(np.eye(3))
