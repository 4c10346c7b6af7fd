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


def test_the_first_that_is_said_counts(work, monkeypatch):
    assert corpora_place() == Path("../shared/data")
    (work / "conf" / "site.toml").write_text('data = "/site"\n')
    assert corpora_place() == Path("/site")
    monkeypatch.setenv("SMS_DIAR_DATA", "/variable")
    assert corpora_place() == Path("/variable")
    assert corpora_place("/setting") == Path("/setting")


def test_an_empty_variable_says_nothing(work, monkeypatch):
    monkeypatch.setenv("SMS_DIAR_DATA", "")
    assert corpora_place() == Path("../shared/data")


def test_the_folder_beside_the_checkout_is_found(work):
    beside = work.parent / "shared" / "data"
    beside.mkdir(parents=True)
    assert corpora_folder().samefile(beside)


def test_a_missing_folder_says_how_to_name_one(work):
    with pytest.raises(MissingFileError) as caught:
        corpora_folder()
    assert str(caught.value) == (
        "../shared/data: no such folder of corpora; name it by the setting 'data', by "
        'SMS_DIAR_DATA, or by data = "..." in conf/site.toml (see '
        "conf/site.example.toml)"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("data = 3\n", "conf/site.toml: 'data' must be a text, got 3"),
        (
            'dta = "/x"\n',
            "conf/site.toml: unknown key 'dta'; did you mean 'data'? Valid keys: data",
        ),
        ("data\n", "conf/site.toml: not valid TOML: "),
    ],
)
def test_wrong_settings_of_the_machine_are_named(work, text, message):
    (work / "conf" / "site.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        corpora_folder()
    assert str(caught.value).startswith(message)


def test_the_example_is_valid(root, work):
    text = (root / "conf" / "site.example.toml").read_text(encoding="utf-8")
    (work / "conf" / "site.toml").write_text(text)
    assert corpora_place() == Path("/corpora")
