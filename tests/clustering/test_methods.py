"""Methods by name."""

import pytest

from sms_diar.cli import methods as cli
from sms_diar.clustering.methods import METHODS, MethodOptions, build_method
from sms_diar.clustering.speakers.evidence import SpeakerEvidenceMeanShift
from sms_diar.clustering.speakers.mean_shift import SpeakerStochasticMeanShift
from sms_diar.errors import InvalidParameterError


def test_the_command_line_knows_the_same_names():
    assert [method.value for method in cli.Method] == list(METHODS)


def test_the_default_has_nothing_to_tell():
    model = build_method("sms", seed=3, min_speakers=2)
    assert type(model) is SpeakerEvidenceMeanShift
    expected = SpeakerEvidenceMeanShift(random_state=3, min_speakers=2)
    assert model.get_params() == expected.get_params()


def test_the_papers_method_is_the_papers():
    model = build_method("sms-paper", seed=0)
    expected = SpeakerStochasticMeanShift(k=17, tol=1e-3, random_state=0)
    assert type(model) is SpeakerStochasticMeanShift
    assert model.get_params() == expected.get_params()


@pytest.mark.parametrize(
    ("k", "around"), [(None, (10, 24)), (10, (6, 14)), (1, (1, 1))]
)
def test_dsms_draws_k_within_two_fifths(k, around):
    assert build_method("dsms", options=MethodOptions(k=k)).k == around


@pytest.mark.parametrize("name", METHODS)
def test_bounds_reach_every_method(name):
    model = build_method(name, num_speakers=3)
    assert (model.num_speakers, model.min_speakers, model.max_speakers) == (3, None, None)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    ("options", "owners"),
    [
        (MethodOptions(k=5), {"sms-paper", "ms", "bms", "dsms"}),
        (MethodOptions(tol=0.1), {"sms-paper", "ms", "bms", "dsms"}),
        (MethodOptions(threshold=0.5), {"ahc"}),
    ],
)
def test_options_reach_their_methods_and_no_other(name, options, owners):
    if name in owners:
        changed = build_method(name, options=options).get_params()
        assert changed != build_method(name).get_params()
    else:
        with pytest.raises(InvalidParameterError, match=f"method {name}: .* left out"):
            build_method(name, options=options)


def test_wrong_names_and_values_are_named():
    with pytest.raises(InvalidParameterError, match="name must be one of 'sms', "):
        build_method("dbscan")
    with pytest.raises(InvalidParameterError) as caught:
        build_method("dsms", options=MethodOptions(k=0))
    assert str(caught.value) == "build_method: k must be a whole number >= 1, got 0"
