"""Strict settings."""

import re
import tomllib
from dataclasses import dataclass

import pytest

from sms_diar.errors import ConfigError, MissingFileError
from sms_diar.experiment.config import (
    Setting,
    conf_folders,
    describe_settings,
    find_conf,
    load_config,
    parse_assignment,
)
from sms_diar.experiment.recipe import recipe_folders


@dataclass(frozen=True)
class Inner:
    """A table.

    Parameters
    ----------
    std, names : float, tuple of str
        Shared meaning, which
        goes on.
    """

    std: float
    names: tuple[str, ...]


@dataclass(frozen=True)
class Counted:
    """Base.

    Parameters
    ----------
    runs : int
        Repetitions.
    """

    runs: int


@dataclass(frozen=True)
class Config(Counted):
    """Settings.

    Parameters
    ----------
    ratio : float
        A ratio.
    inner : Inner
        A table.

    Notes
    -----
    Nothing about name and fast.
    """

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
    with pytest.raises(ConfigError, match=f"^assignments: .{text}. must look like"):
        parse_assignment(text)


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("rnus=5", "unknown key 'rnus'; did you mean 'runs'? Valid keys: fast, "),
        ("inner.sdt=5", "unknown key 'inner.sdt'; did you mean 'inner.std'?"),
        ("runs=1.5", "'runs' must be a whole number, got 1.5"),
        ("runs=true", "'runs' must be a whole number, got True"),
        ("ratio=high", "'ratio' must be a number, got 'high'"),
        ("fast=1", "'fast' must be true or false, got 1"),
        ("name=3", "'name' must be a text, got 3"),
        ("inner=3", "'inner' must be a table [inner], got 3"),
        ("inner.names=3", "'inner.names' must be a list, each entry a text, got 3"),
        ("inner.names=[3]", "'inner.names[0]' must be a text, got 3"),
    ],
)
def test_wrong_settings_are_named(conf, assignment, message):
    with pytest.raises(ConfigError, match=f"^assignments: {re.escape(message)}"):
        load_config(Config, conf, (), [assignment])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (COMPLETE.replace("runs = 3", ""), "missing 'runs'"),
        ("runs = \n", "not valid TOML: .*line 1"),
        (COMPLETE.replace('["a", "b"]', "'a'"), "'inner.names' must be a list"),
    ],
)
def test_a_file_with_a_mistake_is_named(conf, text, message):
    conf.write_text(text)
    with pytest.raises(ConfigError, match=f"^{re.escape(str(conf))}: {message}"):
        load_config(Config, conf)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"none\.toml: no such file"):
        load_config(Config, tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("assignment", "names"),
    [
        ("inner.names=/a path/x", ("/a path/x",)),
        ("inner.names='y'", ("y",)),
        ("inner.names=['y', 'z']", ("y", "z")),
    ],
)
def test_a_single_value_may_be_assigned_to_a_list(conf, assignment, names):
    assert load_config(Config, conf, (), [assignment]).inner.names == names


def test_a_whole_number_may_be_assigned_to_a_list_of_numbers(tmp_path):
    @dataclass(frozen=True)
    class Ratios:
        ratios: tuple[float, ...]

    conf = tmp_path / "conf.toml"
    conf.write_text("ratios = []\n")
    assert load_config(Ratios, conf, (), ["ratios=3"]).ratios == (3.0,)


def test_settings_are_described_with_type_default_and_meaning(conf):
    assert describe_settings(Config, conf) == [
        Setting("runs", "whole number", 3, "Repetitions."),
        Setting("ratio", "number", 1.0, "A ratio."),
        Setting("name", "text", "x", ""),
        Setting("fast", "true or false", False, ""),
        Setting("inner.std", "number", 0.5, "Shared meaning, which goes on."),
        Setting(
            "inner.names", "list of texts", ["a", "b"], "Shared meaning, which goes on."
        ),
    ]


def test_configurations_and_recipes_ship_in_the_wheel(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    shipped = {root / source: root / target for source, target in wheel.items()}
    _, recipes, installed = recipe_folders()
    assert shipped.pop(recipes) == installed
    _, confs, installed = conf_folders()
    assert shipped == {
        file: installed / file.name
        for file in confs.glob("*.toml")
        if not file.name.startswith("site.")  # for one machine
    }


def test_a_named_configuration_is_found_without_a_checkout(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    packaged = find_conf("small")
    assert packaged.is_file()
    for name in ("small.toml", "conf/small.toml"):
        assert find_conf(name) == packaged
    (tmp_path / "conf").mkdir()
    mine = tmp_path / "conf" / "small.toml"
    mine.write_text("runs = 1\n")
    assert find_conf("small").samefile(mine)
    assert find_conf("conf/small.toml").samefile(mine)


@pytest.mark.parametrize("name", ["smal", "other/small.toml", "../conf/small.toml"])
def test_an_unknown_configuration_is_named_with_the_known_ones(
    name, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingFileError) as caught:
        find_conf(name)
    message = str(caught.value)
    assert message.startswith(f"{name}: no such file, and not one of the ")
    assert "mfcc_8k, mfcc_8k_full, small" in message
    assert "site" not in message
