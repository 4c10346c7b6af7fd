"""Settings of the front end, from TOML and back."""

import tomllib

import pytest

from sms_diar.errors import ConfigError, InvalidParameterError
from sms_diar.features.cmvn import CmvnConfig
from sms_diar.features.filterbank import FilterbankConfig
from sms_diar.features.front_end import FrontEnd
from sms_diar.features.mfcc import DeltaConfig, MfccConfig
from sms_diar.features.vad import VadConfig


def test_nineteen_cepstra_and_energy_with_derivatives_are_sixty_numbers():
    assert FrontEnd().dim == 60
    assert FrontEnd.from_dict({"deltas": {"order": 0}}).dim == 20


def test_plain_values_bring_the_same_settings_back():
    settings = FrontEnd.from_dict({"mfcc": {"high_hz": 3500}, "vad": {"context": 4}})
    assert settings.mfcc.high_hz == 3500.0
    assert isinstance(settings.mfcc.high_hz, float)
    assert FrontEnd.from_dict(settings.as_dict()) == settings


def test_the_shared_settings_are_the_defaults_and_the_full_band(root):
    read = {
        name: FrontEnd.from_dict(
            tomllib.loads((root / "conf" / f"{name}.toml").read_text())
        )
        for name in ("mfcc_8k", "mfcc_8k_full")
    }
    assert read["mfcc_8k"] == FrontEnd()
    band = read["mfcc_8k_full"].mfcc
    assert (band.low_hz, band.high_hz) == (0.0, 4000.0)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"mfc": {}}, "unknown key 'mfc'"),
        ({"cmvn": {"windw": 3}}, "unknown key 'cmvn.windw'"),
        ({"vad": 3}, "'vad' must be a table [vad], got 3"),
        ({"mfcc": {"rate": "8k"}}, "[mfcc] MfccConfig: rate must be a whole number >="),
    ],
)
def test_settings_that_cannot_be(settings, problem):
    with pytest.raises(ConfigError) as caught:
        FrontEnd.from_dict(settings, origin="conf.toml")
    assert str(caught.value).startswith(f"conf.toml: {problem}")


@pytest.mark.parametrize(
    ("kind", "settings", "problem"),
    [
        (CmvnConfig, {"method": "speaker"}, "method must be one of 'session'"),
        (CmvnConfig, {"variance": "no"}, "variance must be true or false"),
        (DeltaConfig, {"order": -1}, "order must be a whole number >= 0"),
        (MfccConfig, {"rate": 0}, "rate must be a whole number >= 1"),
        (MfccConfig, {"length": -1.0}, "length must be a finite number > 0"),
        (MfccConfig, {"n_fft": 128}, "n_fft must be >= the frame of 200 samples"),
        (MfccConfig, {"high_hz": 5000.0}, "the band must satisfy low_hz < high_hz"),
        (MfccConfig, {"n_cepstra": 24}, "n_cepstra must be below n_filters = 24"),
        (MfccConfig, {"n_filters": 100}, "n_filters must be small enough"),
        (VadConfig, {"method": "magic"}, "method must be one of 'energy'"),
        (VadConfig, {"context": -1}, "context must be a whole number >= 0"),
        (VadConfig, {"proportion": 0.0}, "proportion must be a number in"),
        (VadConfig, {"padding": -1.0}, "padding must be a finite number >= 0"),
        (VadConfig, {"constant": "x"}, "constant must be a finite number"),
        (VadConfig, {"adaptive": 1}, "adaptive must be true or false"),
        (FilterbankConfig, {"high": 9000.0}, "filters must be between 0 and 8000 Hz"),
        (FilterbankConfig, {"low": 8000.0}, "filters must be .* got 8000 to 8000"),
        (FilterbankConfig, {"high": -7990.0}, "filters must be .* got 20 to 10"),
        (FilterbankConfig, {"shift": 0.03}, "shift must be in"),
        (FilterbankConfig, {"n_filters": 0}, "n_filters must be a whole number"),
    ],
)
def test_wrong_settings_are_named(kind, settings, problem):
    with pytest.raises(InvalidParameterError, match=f"^{kind.__name__}: {problem}"):
        kind(**settings)
