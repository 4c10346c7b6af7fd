"""Settings of the front end, from TOML and back."""

import tomllib

import pytest

from sms_diar.errors import ConfigError
from sms_diar.features.front_end import FrontEnd


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
