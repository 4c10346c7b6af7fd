"""Dimensions of a back end, chosen by speakers held out."""

import pytest

from recipes._common.components import choose_components
from sms_diar.errors import InvalidParameterError
from sms_diar.synthetic import PldaWorld


@pytest.fixture(scope="module")
def training():
    return PldaWorld(dim=12, eer=0.08).draw_training(60, 10, random_state=9)


def test_components_are_chosen_by_speakers_held_out(training):
    choice = choose_components(
        training.X, training.speakers, [12, 2, 99], n_folds=3, seed=1
    )
    assert choice.candidates == (2, 12)  # 99 is above the dimensions
    assert choice.mean[1] < choice.mean[0]
    assert choice.best == 12
    again = choose_components(training.X, training.speakers, [2, 12], n_folds=3, seed=1)
    assert again == choice


def test_pairs_across_corpora_do_not_count(training):
    # Far shifts tell the corpora apart at a glance, but no two speakers within one.
    groups = training.speakers % 2
    X = training.X + 50.0 * groups[:, None]
    options = {"n_folds": 3, "seed": 1}
    apart = choose_components(X, training.speakers, [2], groups=groups, **options)
    pooled = choose_components(X, training.speakers, [2], **options)
    assert pooled.mean[0] < apart.mean[0] - 0.05


@pytest.mark.parametrize(
    ("n_rows", "candidates", "parameter"),
    [(600, [13], "candidates"), (50, [2], "fold")],
)
def test_components_need_speakers_and_candidates(
    training, n_rows, candidates, parameter
):
    rows = slice(n_rows)  # 50 rows have five speakers, for five folds
    with pytest.raises(InvalidParameterError, match=parameter):
        choose_components(training.X[rows], training.speakers[rows], candidates)
