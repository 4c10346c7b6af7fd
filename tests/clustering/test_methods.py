"""Methods by name: one registry for the command, the recipes and the tables."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

from sms_diar.clustering import methods
from sms_diar.clustering.methods import (
    METHODS,
    POINT_METHODS,
    MethodOptions,
    build_method,
)
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.clustering.speakers.evidence import SpeakerEvidenceMeanShift
from sms_diar.clustering.speakers.fragments import SpeakerFragmentMeanShift
from sms_diar.clustering.speakers.mean_shift import SpeakerStochasticMeanShift
from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing import FoldedChain
from sms_diar.scoring import build_backend
from sms_diar.types import PldaModel


def test_listing_the_methods_loads_nothing_heavy():
    code = (
        "import sys; import sms_diar.clustering.methods; "
        "print(sorted({'numba', 'sklearn', 'numpy'} & set(sys.modules)))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert printed.strip() == "[]"


def test_a_name_is_one_algorithm():
    assert not set(METHODS) & set(POINT_METHODS)
    assert all(name.startswith("points-") for name in POINT_METHODS)
    assert [name for name, method in METHODS.items() if method.name != name] == []
    made = [(m.estimator, m.spread) for m in METHODS.values()]
    assert len(set(made)) == len(made)


@pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
def test_every_method_has_its_estimator_and_its_options(method):
    kind = method.load()
    assert issubclass(kind, SpeakerEstimator)
    assert set(method.options) <= set(inspect.signature(kind).parameters)
    assert "\n" not in method.line


@pytest.mark.parametrize("method", POINT_METHODS.values(), ids=list(POINT_METHODS))
def test_point_methods_have_a_bandwidth(method):
    assert "bandwidth" in inspect.signature(method.load()).parameters


def test_only_vbx_cannot_do_without_a_plda_model():
    assert [m.name for m in METHODS.values() if m.needs_plda] == ["vbx"]


def test_options_for_several_methods_reach_those_that_take_them():
    options = MethodOptions(k=5, max_steps=100, threshold=0.5)
    assert options.taken_by("sms") == MethodOptions()
    assert options.taken_by("ms") == MethodOptions(k=5)
    assert options.taken_by("dsms") == MethodOptions(k=5, max_steps=100)
    assert options.taken_by("ahc") == MethodOptions(threshold=0.5)
    for name in METHODS:
        build_method(name, options=options.taken_by(name))


def test_an_option_without_a_switch_is_named_as_settings_name_it():
    with pytest.raises(InvalidParameterError) as caught:
        methods.check_options("ms", MethodOptions(max_steps=10))
    assert str(caught.value) == (
        "method ms: max_steps must be left out, got 10; it is for sms-paper, dsms"
    )


def test_the_default_needs_no_settings_and_depends_on_the_back_end():
    options = {"min_speakers": 2}
    model = build_method("sms", seed=3, **options)
    expected = SpeakerFragmentMeanShift(random_state=3, **options)
    assert type(model) is SpeakerFragmentMeanShift
    assert model.get_params() == expected.get_params()
    plain = FoldedChain(np.eye(4), np.zeros(4))
    cosine = build_backend(plain)
    assert type(build_method("sms", cosine)) is SpeakerFragmentMeanShift
    plda = build_backend(plain, PldaModel(np.zeros(4), np.eye(4), np.ones(4)))
    trained = build_method("sms", plda, seed=3, **options)
    expected = SpeakerEvidenceMeanShift(backend=plda, random_state=3, **options)
    assert type(trained) is SpeakerEvidenceMeanShift
    assert trained.get_params() == expected.get_params()


def test_other_methods_have_one_estimator_for_all_back_ends():
    assert [m.name for m in METHODS.values() if m.with_plda] == ["sms"]


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
    assert (model.num_speakers, model.min_speakers, model.max_speakers) == (
        3,
        None,
        None,
    )


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    ("options", "owners"),
    [
        (MethodOptions(k=5), {"sms-paper", "ms", "bms", "dsms"}),
        (MethodOptions(tol=0.1), {"sms-paper", "ms", "bms", "dsms"}),
        (MethodOptions(threshold=0.5), {"ahc"}),
        (MethodOptions(merge_threshold=0.3), {"sms-paper", "ms", "bms", "dsms"}),
        (MethodOptions(max_steps=9), {"sms-paper", "dsms"}),
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
