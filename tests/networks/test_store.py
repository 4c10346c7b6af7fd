"""The folder of converted networks, the catalogue, and names of others."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest

from sms_diar.errors import (
    DataFormatError,
    InvalidParameterError,
    MissingFileError,
    NetworkError,
)
from sms_diar.io.model import ModelFile, write_model
from sms_diar.networks import registry, store


def test_the_folder_is_the_users_cache_unless_named(monkeypatch, tmp_path):
    monkeypatch.delenv("SMS_DIAR_MODELS", raising=False)
    assert store.models_folder().parts[-2:] == ("sms-diar", "models")
    monkeypatch.setenv("SMS_DIAR_MODELS", str(tmp_path))
    assert store.path_of("campplus") == tmp_path / "campplus.npz"


def test_a_network_that_is_not_there_says_how_to_get_it(models):
    assert not store.is_stored("campplus")
    assert store.look_up("campplus").state == "absent"
    with pytest.raises(MissingFileError, match="'sms-diar models fetch campplus'"):
        store.load("campplus")


def test_other_numbers_under_the_name_of_a_network_are_refused(tiny, models):
    models.mkdir(parents=True)
    arrays = {"numbers": np.array([1.0, 2.0, 4.0], dtype=np.float32)}
    write_model(models / "tiny.npz", ModelFile(store.KIND, arrays, {}))
    assert store.look_up("tiny").state == "damaged"
    assert "contains other values" in store.look_up("tiny").problem
    with pytest.raises(DataFormatError, match="sms-diar models fetch tiny"):
        store.load("tiny")


def test_removing_says_whether_there_was_something(tiny, models):
    assert store.remove("tiny") is None
    store.save(tiny, {"numbers": np.array([1.0, 2.0, 3.0], dtype=np.float32)})
    assert store.remove("tiny") == models / "tiny.npz"
    assert not store.is_stored("tiny")
    (models / "tiny.npz").mkdir()
    with pytest.raises(NetworkError, match="cannot be deleted"):
        store.remove("tiny")


class Thing:
    pass


def make_thing():
    return Thing()


def make_text():
    return "no thing"


@pytest.fixture
def offered(monkeypatch):
    """Entry points of other packages, in place of those that are installed."""

    def offer(**functions):
        points = [
            EntryPoint(name, f"{__name__}:{value}", "group")
            for name, value in functions.items()
        ]

        def find(*, group, name=None):
            assert group == "group"
            return [point for point in points if name in (None, point.name)]

        monkeypatch.setattr(registry, "entry_points", find)
        monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[self.attr])

    return offer


def test_other_packages_offer_by_entry_points_and_cannot_take_our_names(offered):
    offered(theirs="make_thing", ours="make_text")
    own = {"ours": make_thing}
    assert registry.names("group", own) == ["ours", "theirs"]
    assert isinstance(registry.load_named("group", own, "theirs", Thing), Thing)
    assert isinstance(registry.load_named("group", own, "ours", Thing), Thing)
    with pytest.raises(InvalidParameterError, match="one of ours, theirs, got 'other'"):
        registry.load_named("group", own, "other", Thing)


def test_an_entry_point_that_gives_something_else_is_named(offered):
    offered(theirs="make_text")
    with pytest.raises(NetworkError, match="gave a str, which is not a Thing"):
        registry.load_named("group", {}, "theirs", Thing)
