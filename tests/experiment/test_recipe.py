"""Finding and loading recipes."""

import importlib
import json
import sys
from pathlib import Path

import pytest

from sms_diar.errors import ExperimentError
from sms_diar.experiment.config import describe_settings, load_config
from sms_diar.experiment.recipe import find_recipe, list_recipes, run_recipe
from sms_diar.features.front_end import FrontEnd
from sms_diar.io.toml import read_toml

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


@pytest.fixture(autouse=True)
def _path_is_restored(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))


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
    record = json.loads((tmp_path / "exp" / "run.json").read_text())
    assert record["settings"] == {"seed": 1, "word": "bye"}
    assert record["seed"] == 1
    assert {"sms_diar", "git", "machine", "date"} <= set(record)


PACKAGED = (
    RUN.replace("import json\n", "import json\nfrom .steps import shout\n")
    .replace('{"word": config.word}))', '{"word": run.map(shout, tasks)["a"]}))')
    .replace(
        "    def report",
        '    tasks = {name: {"word": config.word} for name in "ab"}\n    def report',
    )
)


def test_a_recipe_that_is_a_package_has_modules_that_workers_find(hello, tmp_path):
    """Its folder is on no path, as with a folder of a user's own."""
    packaged = hello.rename(tmp_path / "own_recipe")
    (packaged / "__init__.py").write_text("")
    (packaged / "run.py").write_text(PACKAGED)
    (packaged / "steps.py").write_text("def shout(word):\n    return word.upper()\n")
    outcome = run_recipe(find_recipe(str(packaged)), tmp_path / "exp", workers=2)
    assert outcome.results == {"word": "HELLO"}


def test_a_packaged_recipe_with_the_name_of_another_package_is_named(hello, tmp_path):
    packaged = hello.rename(tmp_path / "json")
    (packaged / "__init__.py").write_text("")
    with pytest.raises(ExperimentError, match="another package named 'json'"):
        find_recipe(str(packaged)).load()


RECIPES = pytest.mark.parametrize("recipe", list_recipes(), ids=lambda r: r.name)


@RECIPES
def test_work_of_a_shipped_recipe_is_importable_by_name(recipe):
    module = recipe.load()
    assert module is importlib.import_module(f"recipes.{recipe.name}.run")


def test_a_folder_of_benchmarks_is_a_recipe_as_well(root):
    assert find_recipe(str(root / "benchmarks" / "compare")).load().__name__ == (
        "benchmarks.compare.run"
    )


def test_a_recipe_must_define_its_parts(hello):
    (hello / "run.py").write_text('"""Nothing."""\n')
    with pytest.raises(ExperimentError, match="a recipe must define Config"):
        find_recipe(str(hello)).load()


def test_a_recipe_that_is_not_python_is_named(hello):
    (hello / "run.py").write_text("def broken(:\n")
    with pytest.raises(ExperimentError, match=r"run\.py: not a Python file"):
        find_recipe(str(hello))


def test_names_win_over_folders_in_the_current_directory(hello, monkeypatch):
    monkeypatch.chdir(hello.parent)
    (Path("synthetic")).mkdir()
    assert find_recipe("synthetic").folder.parent.name == "recipes"


@RECIPES
def test_every_setting_of_every_recipe_has_a_meaning_of_its_own(recipe):
    settings = recipe.settings()
    assert [s.key for s in settings if not s.meaning] == []
    tables = {s.key.rpartition(".")[0] for s in settings}
    for table in tables:
        meanings = [s.meaning for s in settings if s.key.rpartition(".")[0] == table]
        assert len(set(meanings)) == len(meanings), table


def test_every_setting_of_the_front_end_has_a_meaning_of_its_own():
    settings = describe_settings(FrontEnd)
    assert {s.key.partition(".")[0] for s in settings} == set(FrontEnd().as_dict())
    assert [s.key for s in settings if not s.meaning] == []
    assert len({s.meaning for s in settings}) == len(settings)
    default = {s.key: s.default for s in settings}
    assert default["mfcc.rate"] == 8000
    assert default["vad.method"] == "energy"


def test_configuration_files_of_the_checkout_can_be_read(root):
    """Each is for one recipe, or for the front end."""
    recipes = {"small": "synthetic", "speakers-small": "speakers"}
    for path in sorted((root / "conf").glob("*.toml")):
        if path.stem in recipes:
            recipe = find_recipe(recipes[path.stem])
            load_config(recipe.load().Config, recipe.folder / "conf.toml", [path])
        elif path.stem.startswith("mfcc"):
            FrontEnd.from_dict(read_toml(path))
        else:
            assert path.stem in ("site", "site.example"), path
