"""Frozen settings: what they hold, and when they refuse."""

import json

import pytest

from benchmarks.compare import freeze as frozen
from sms_diar.clustering.speakers import evidence as speaker_evidence
from sms_diar.errors import ExperimentError

SETTINGS = {"methods": {"sms": {"coarsening": 15.0}}, "program": {"a.py": "12"}}
PROGRAM = '''"""Says one thing."""

LIMIT = 3


def double(x):
    """Twice."""
    return 2 * x  # cheap
'''


def test_words_do_not_change_the_digest_of_a_program():
    other = PROGRAM.replace("one thing", "another").replace("cheap", "dear")
    other = other.replace('    """Twice."""\n', "")
    assert frozen.program_digest(other) == frozen.program_digest(PROGRAM)


@pytest.mark.parametrize(("old", "new"), [("LIMIT = 3", "LIMIT = 4"), ("2 * x", "x")])
def test_code_does(old, new):
    changed = PROGRAM.replace(old, new)
    assert frozen.program_digest(changed) != frozen.program_digest(PROGRAM)


def test_methods_constants_program_and_versions_are_frozen():
    settings = frozen.settings_to_freeze(["sms", "vbx"], {"model": "ab"}, {"seed": 1})
    assert settings["methods"]["sms"]["coarsening"] == speaker_evidence.COARSENING
    assert settings["methods"]["vbx"]["Fb"] == 1.0
    prefix = "sms_diar.clustering.speakers.evidence."
    assert settings["constants"][f"{prefix}NEIGHBOURS"] == [3, 5, 7, 14, 28]
    assert (
        "sms_diar.clustering.speakers.evidence_search._ROUNDS" in settings["constants"]
    )
    assert {
        "clustering/speakers/evidence.py",
        "clustering/baselines/nme_spectral.py",
        "scoring/plda.py",
        "benchmarks/compare/peers.py",
    } <= set(settings["program"])
    assert "numpy" in settings["versions"]
    assert settings["files"] == {"model": "ab"}
    assert json.loads(json.dumps(settings)) == settings


def test_freezing_twice_keeps_the_first(tmp_path):
    frozen.freeze(tmp_path, SETTINGS)
    text = (tmp_path / frozen.SETTINGS).read_text()
    frozen.freeze(tmp_path, SETTINGS)
    assert (tmp_path / frozen.SETTINGS).read_text() == text
    record = frozen.check_frozen(tmp_path / frozen.SETTINGS, SETTINGS)
    assert record["settings"] == SETTINGS
    assert record["fingerprint"] == frozen.fingerprint(SETTINGS)


def test_a_change_is_refused_and_named(tmp_path):
    frozen.freeze(tmp_path, SETTINGS)
    path = tmp_path / frozen.SETTINGS
    date = json.loads(path.read_text())["date"]
    changed = {
        "methods": {"sms": {"coarsening": 20.0, "extra": 1}},
        "program": {"b.py": "12"},
    }
    for refuse in (
        lambda: frozen.check_frozen(path, changed),
        lambda: frozen.freeze(tmp_path, changed),
    ):
        with pytest.raises(ExperimentError) as caught:
            refuse()
        assert str(caught.value) == (
            f"{path}: settings were frozen on {date} and have changed since:\n"
            f"  methods / sms / coarsening: was 15.0, is 20.0\n"
            f"  methods / sms / extra: is new, 1\n"
            f"  program / a.py: was '12', is gone\n"
            f"  program / b.py: is new, '12'\n"
            f"undo that, or freeze anew with --from freeze, after which the test "
            f"counts as run once more"
        )


def test_many_changes_are_counted(tmp_path):
    frozen.freeze(tmp_path, {str(i): 0 for i in range(20)})
    with pytest.raises(ExperimentError, match="and 8 more"):
        frozen.check_frozen(tmp_path / frozen.SETTINGS, {str(i): 1 for i in range(20)})


def test_an_edited_file_is_refused(tmp_path):
    frozen.freeze(tmp_path, SETTINGS)
    path = tmp_path / frozen.SETTINGS
    path.write_text(path.read_text().replace("15.0", "20.0"))
    with pytest.raises(ExperimentError) as caught:
        frozen.read_frozen(path)
    assert str(caught.value) == (
        f"{path}: does not have the fingerprint it says, so it was edited; freeze "
        f"anew with --from freeze"
    )


def test_nothing_frozen_is_an_error_too(tmp_path):
    with pytest.raises(ExperimentError, match=r"settings.json: no frozen settings"):
        frozen.read_frozen(tmp_path / frozen.SETTINGS)


def test_runs_of_the_test_are_counted(tmp_path):
    assert frozen.read_runs(tmp_path) == []
    assert frozen.start_test(tmp_path, "f1", "digits") == 1
    # Interrupted, and taken up again: still the first.
    assert frozen.start_test(tmp_path, "f1", "digits") == 1
    frozen.finish_test(tmp_path)
    # The same once more, or something else: the next ones.
    assert frozen.start_test(tmp_path, "f1", "digits") == 2
    assert frozen.start_test(tmp_path, "f2", "digits") == 3
    runs = frozen.read_runs(tmp_path)
    assert [run["continued"] for run in runs] == [1, 0, 0]
    assert [bool(run["finished"]) for run in runs] == [True, False, False]
