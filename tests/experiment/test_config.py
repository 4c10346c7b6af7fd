"""Strict settings."""

from dataclasses import dataclass

import pytest

from sms_diar.errors import ConfigError, MissingFileError
from sms_diar.experiment.config import load_config, parse_assignment


@dataclass(frozen=True)
class Inner:
    std: float
    names: tuple[str, ...]


@dataclass(frozen=True)
class Config:
    runs: int
    ratio: float
    name: str
    fast: bool
    inner: Inner


COMPLETE = """
runs = 3
ratio = 1
name = "x"
fast = false
[inner]
std = 0.5
names = ["a", "b"]
"""


@pytest.fixture
def conf(tmp_path):
    path = tmp_path / "conf.toml"
    path.write_text(COMPLETE)
    return path


def test_reads_every_kind_of_value(conf):
    config = load_config(Config, conf)
    assert config == Config(3, 1.0, "x", False, Inner(0.5, ("a", "b")))
    assert isinstance(config.ratio, float)  # 1 is a fine float


def test_later_layers_win_and_leave_the_rest_alone(conf, tmp_path):
    extra = tmp_path / "extra.toml"
    extra.write_text("runs = 5\n[inner]\nstd = 2.0\n")
    config = load_config(Config, conf, [extra], ["inner.std=3", "name=new"])
    assert (config.runs, config.inner.std, config.name) == (5, 3.0, "new")
    assert config.inner.names == ("a", "b")


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("runs=5", {"runs": 5}),
        ("inner.names=['a']", {"inner": {"names": ["a"]}}),
        ("name=plain text", {"name": "plain text"}),
        ("name=a=b", {"name": "a=b"}),
        ("fast=true", {"fast": True}),
    ],
)
def test_assignments_are_toml_or_text(text, parsed):
    assert parse_assignment(text) == parsed


@pytest.mark.parametrize("text", ["runs", "=5", "a..b=1"])
def test_an_assignment_needs_a_key_and_a_value(text):
    with pytest.raises(ConfigError) as caught:
        parse_assignment(text)
    assert str(caught.value) == (
        f"--set {text}: must look like key=value, for instance runs=5"
    )


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        (
            "rnus=5",
            "--set: unknown key 'rnus'; did you mean 'runs'? Valid keys: fast, inner, "
            "name, ratio, runs",
        ),
        (
            "inner.sdt=5",
            "--set: unknown key 'inner.sdt'; did you mean 'inner.std'? Valid keys: "
            "names, std",
        ),
        ("runs=1.5", "--set: 'runs' must be a whole number, got 1.5"),
        ("runs=true", "--set: 'runs' must be a whole number, got True"),
        ("ratio=high", "--set: 'ratio' must be a number, got 'high'"),
        ("fast=1", "--set: 'fast' must be true or false, got 1"),
        ("name=3", "--set: 'name' must be a text, got 3"),
        ("inner=3", "--set: 'inner' must be a table [inner], got 3"),
        (
            "inner.names=3",
            "--set: 'inner.names' must be a list, each entry a text, got 3",
        ),
        ("inner.names=[3]", "--set: 'inner.names[0]' must be a text, got 3"),
    ],
)
def test_wrong_settings_are_named(conf, assignment, message):
    with pytest.raises(ConfigError) as caught:
        load_config(Config, conf, (), [assignment])
    assert str(caught.value) == message


def test_a_missing_setting_is_named(tmp_path):
    path = tmp_path / "conf.toml"
    path.write_text(COMPLETE.replace("runs = 3", "").replace("std = 0.5", ""))
    with pytest.raises(ConfigError) as caught:
        load_config(Config, path)
    assert str(caught.value) == f"{path}: missing 'runs'"


def test_a_file_that_is_not_toml_is_named(tmp_path):
    path = tmp_path / "conf.toml"
    path.write_text("runs = \n")
    with pytest.raises(ConfigError, match=r"conf\.toml: not valid TOML: .*line 1"):
        load_config(Config, path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(MissingFileError) as caught:
        load_config(Config, tmp_path / "none.toml")
    assert str(caught.value) == f"{tmp_path / 'none.toml'}: no such file"
