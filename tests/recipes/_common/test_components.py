"""Dimensions of a back end, chosen by speakers held out."""

import pytest

from recipes._common.components import choose_components
from sms_diar.errors import InvalidParameterError
from sms_diar.synthetic import PldaWorld

WORLD = {"dim": 12, "eer": 0.08}


@pytest.fixture(scope="module")
def training():
    return PldaWorld(**WORLD).draw_training(60, 10, random_state=9)


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


def test_components_need_speakers_and_candidates(training):
    with pytest.raises(InvalidParameterError) as caught:
        choose_components(training.X, training.speakers, [13])
    assert str(caught.value) == (
        "choose_components: candidates must hold a number in 1 .. 12, got [13]"
    )
    with pytest.raises(InvalidParameterError) as caught:
        choose_components(training.X[:50], training.speakers[:50], [2])
    assert str(caught.value) == (
        "choose_components: speakers must be at least two per fold, got 5 for 5 folds"
    )
