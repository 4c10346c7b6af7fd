"""Where the corpora are looked for."""

from pathlib import Path

import pytest

from recipes._common.corpora import corpora_folder, corpora_place
from sms_diar.errors import ConfigError, MissingFileError


@pytest.fixture
def work(tmp_path, monkeypatch):
    """An empty working directory without the environment variable."""
    folder = tmp_path / "work"
    (folder / "conf").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("SMS_DIAR_DATA", raising=False)
    return folder


def test_setting_variable_and_site_take_precedence_in_this_order(work, monkeypatch):
    monkeypatch.setenv("SMS_DIAR_DATA", "")
    assert corpora_place() == Path("../shared/data")
    (work / "conf" / "site.toml").write_text('data = "/site"\n')
    assert corpora_place() == Path("/site")
    monkeypatch.setenv("SMS_DIAR_DATA", "/variable")
    assert corpora_place() == Path("/variable")
    assert corpora_place("/setting") == Path("/setting")


def test_the_folder_must_exist(work):
    with pytest.raises(MissingFileError, match="SMS_DIAR_DATA"):
        corpora_folder()
    beside = work.parent / "shared" / "data"
    beside.mkdir(parents=True)
    assert corpora_folder().samefile(beside)


@pytest.mark.parametrize("text", ["data = 3\n", 'dta = "/x"\n', "data\n"])
def test_wrong_settings_of_the_machine_are_named(work, text):
    (work / "conf" / "site.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"^conf/site\.toml: "):
        corpora_folder()


def test_the_example_is_valid(root, work):
    text = (root / "conf" / "site.example.toml").read_text(encoding="utf-8")
    (work / "conf" / "site.toml").write_text(text)
    assert corpora_place() == Path("/corpora")
