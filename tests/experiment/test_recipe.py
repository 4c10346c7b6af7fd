"""Finding and loading recipes."""

from pathlib import Path

import pytest

from sms_diar.errors import ExperimentError
from sms_diar.experiment.recipe import find_recipe, list_recipes, run_recipe

RUN = '''"""Says hello. In one line."""
import json
from dataclasses import dataclass
from sms_diar.experiment.stages import Stage

@dataclass(frozen=True)
class Config:
    seed: int
    word: str

def stages(config):
    def report(run):
        (run.folder / "results.json").write_text(json.dumps({"word": config.word}))
        (run.folder / "summary.txt").write_text(config.word)
    return [Stage("report", report, {"word": config.word})]
'''


@pytest.fixture
def hello(tmp_path):
    folder = tmp_path / "hello"
    folder.mkdir()
    (folder / "run.py").write_text(RUN)
    (folder / "conf.toml").write_text('seed = 1\nword = "hello"\n')
    return folder


def test_the_synthetic_recipe_is_known_by_name():
    names = {recipe.name: recipe for recipe in list_recipes()}
    assert "paper's table" in names["synthetic"].summary
    assert find_recipe("synthetic").folder.name == "synthetic"


def test_a_recipe_is_found_by_folder_and_by_file(hello):
    for name in (str(hello), str(hello / "run.py")):
        assert find_recipe(name).summary == "Says hello. In one line."


def test_a_recipe_runs_and_leaves_its_provenance(hello, tmp_path):
    outcome = run_recipe(
        find_recipe(str(hello)), tmp_path / "exp", assignments=["word=bye"]
    )
    assert outcome.ran == ("report",)
    assert outcome.results == {"word": "bye"}
    assert outcome.summary == "bye"
    import json

    record = json.loads((tmp_path / "exp" / "run.json").read_text())
    assert record["settings"] == {"seed": 1, "word": "bye"}
    assert record["seed"] == 1
    assert {"sms_diar", "git", "machine", "date"} <= set(record)


def test_an_unknown_recipe_is_named():
    with pytest.raises(
        ExperimentError, match=r"no recipe named 'nonsense' \(known: .*s"
    ):
        find_recipe("nonsense")


def test_a_recipe_must_define_its_parts(hello):
    (hello / "run.py").write_text('"""Nothing."""\n')
    with pytest.raises(ExperimentError) as caught:
        find_recipe(str(hello)).load()
    assert str(caught.value) == f"{hello / 'run.py'}: a recipe must define Config"


def test_a_recipe_that_is_not_python_is_named(hello):
    (hello / "run.py").write_text("def broken(:\n")
    with pytest.raises(ExperimentError, match=r"run\.py: not a Python file"):
        find_recipe(str(hello))


def test_names_win_over_folders_in_the_current_directory(hello, monkeypatch):
    monkeypatch.chdir(hello.parent)
    (Path("synthetic")).mkdir()
    assert find_recipe("synthetic").folder.parent.name == "recipes"
