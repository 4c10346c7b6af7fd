"""Snippets of README.md and of the pages in docs/ print, and call, what they say."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import re
import shlex
from pathlib import Path

import pytest
import typer

import sms_diar

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    path
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    if not {"auto_gallery", "generated"} & set(path.parts)
)


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def blocks_of(path, language):
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def with_blocks(language):
    chosen = [path for path in PAGES if blocks_of(path, language)]
    return pytest.mark.parametrize("page", chosen, ids=name_of)


@with_blocks("python")
def test_the_snippets_of_a_page_print_what_it_says(page):
    blocks = blocks_of(page, "python")
    # Elsewhere doctest would not see them, or would take the fence for output.
    assert all(one.startswith(">>> ") and one.endswith("\n\n") for one in blocks)
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted >= len(blocks)
    assert not found.failed


def commands_of(page):
    """Calls of sms-diar in the snippets of a page, as lists of words."""
    for block in blocks_of(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            while "&&" in words:
                place = words.index("&&")
                yield words[:place]
                words = words[place + 1 :]
            yield words


@with_blocks("sh")
def test_the_commands_of_a_page_exist_with_their_options(page, build_command):
    from sms_diar.cli.main import app

    for program, *words in filter(None, commands_of(page)):
        if program != "sms-diar":
            continue
        command = build_command(app)
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        known = {
            option
            for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        used = {word.partition("=")[0] for word in words if re.match("--?[a-z]", word)}
        assert used <= known | {"--help", "--install-completion"}, words
        # A name that is no command would be left to a group.
        assert not getattr(command, "commands", None) or not words or used, words


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_of_a_page_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8")):
        if "://" in target or {"auto_gallery", "generated"} & set(target.split("/")):
            continue
        assert (page.parent / target).exists(), target


def test_pictures_that_pages_name_have_an_example():
    for page in PAGES:
        for name in re.findall(r"auto_gallery/(plot_\w+)", page.read_text("utf-8")):
            assert (ROOT / "docs" / "gallery" / f"{name}.py").is_file(), (page, name)


def test_names_of_the_package_are_in_the_pages_about_use_and_in_the_reference():
    use = " ".join(path.read_text("utf-8") for path in PAGES if "use" in path.parts)
    named = set(re.findall(r"\bsms_diar\.(\w+)", use))
    assert not set(sms_diar.__all__) - named
    reference = (ROOT / "docs" / "api" / "index.md").read_text("utf-8")
    assert not set(sms_diar.__all__) - set(reference.split())


@pytest.mark.parametrize("package", ["clustering", "clustering.baselines", "metrics"])
def test_the_reference_has_the_classes_and_functions_of_a_package(package):
    page = package.partition(".")[0]
    listed = (ROOT / "docs" / "api" / f"{page}.md").read_text("utf-8").split()
    names = importlib.import_module(f"sms_diar.{package}").__all__
    assert not {name for name in names if not name.isupper()} - set(listed)


def test_included_documents_exist_and_have_a_title_to_leave_out():
    found = 0
    for page in PAGES:
        pattern = r"^```\{include\} (\S+)\n:start-line: 1\n```"
        for name in re.findall(pattern, page.read_text("utf-8"), re.MULTILINE):
            first = (page.parent / name).read_text("utf-8").splitlines()[0]
            assert first.startswith("# "), (page, name)
            found += 1
    assert found > 0


def test_tests_that_promises_name_exist():
    tests = "".join(one.read_text("utf-8") for one in (ROOT / "tests").rglob("*.py"))
    for page in (ROOT / "SECURITY.md", ROOT / "docs" / "promises.md"):
        text = page.read_text("utf-8")
        for path in re.findall(r"`(tests/[\w/.]+)`", text):
            assert (ROOT / path).exists(), path
        for name in re.findall(r"`(test_\w+)`", text):
            assert f"def {name}(" in tests, name


@pytest.fixture(scope="module")
def generated():
    path = ROOT / "docs" / "generated_pages.py"
    spec = importlib.util.spec_from_file_location("generated_pages", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def every_command(command, name="sms-diar"):
    yield name, command
    for child, made in getattr(command, "commands", {}).items():
        yield from every_command(made, f"{name} {child}")


def test_all_commands_and_their_options_are_on_the_page_of_commands(generated):
    from sms_diar.cli.main import app

    page = generated.commands_page()
    sections = dict(
        part.split("\n", 1) for part in page.split("\n## ") if part[:9] == "sms-diar "
    )
    checked = 0
    for name, command in every_command(typer.main.get_command(app)):
        if name == "sms-diar" or getattr(command, "commands", {}):
            continue
        assert f"[`{name}`]" in page
        for parameter in command.params:
            if parameter.name != "help":
                head = parameter.opts[-1] if parameter.opts[0][0] == "-" else ""
                assert f"{head}" in sections[name], (name, parameter.name)
                assert " ".join((parameter.help or "").split()) in " ".join(
                    sections[name].replace("\\|", "|").split()
                )
                checked += 1
    assert checked > 0


def test_all_settings_are_on_the_page_of_settings(generated):
    from sms_diar.experiment.config import describe_settings
    from sms_diar.experiment.recipe import list_recipes
    from sms_diar.features.front_end import FrontEnd

    page = generated.settings_page()
    parts = dict(part.split("\n", 1) for part in page.split("\n## "))
    settings = {"Front end": describe_settings(FrontEnd)}
    settings |= {f"Recipe {r.name}": r.settings() for r in list_recipes()}
    for title, expected in settings.items():
        for setting in expected:
            assert f"| `{setting.key}` | {setting.kind} | " in parts[title]
            assert setting.meaning in parts[title]


def test_headline_figures_are_those_of_the_reports(generated):
    page = generated.headline_page()
    report = (ROOT / "benchmarks" / "compare" / "RESULTS.md").read_text("utf-8")
    [means] = [r for r in report.splitlines() if r.startswith("| i-vectors |")]
    ours = means.split("|")[2].split(" / ")[0].replace("**", "")
    assert f"K is {float(ours):.3f} on average" in page
    report = (ROOT / "recipes" / "conversations" / "RESULTS.md").read_text("utf-8")
    [first] = [r for r in report.splitlines() if r.startswith("| balanced |")][:1]
    assert f"DER {first.split('|')[2].strip()} %" in page


def test_the_first_page_shows_what_the_command_prints():
    from typer.testing import CliRunner

    from sms_diar.cli.main import app
    from sms_diar.datasets import sample_conversation

    [shown] = blocks_of(ROOT / "docs" / "index.md", "text")
    audio = str(sample_conversation().audio)
    result = CliRunner().invoke(app, ["diarize", audio, "--model", "embedded"])
    *turns, rest = shown.splitlines()
    assert len(turns) == 3
    assert rest == "..."
    assert result.stdout.splitlines()[:3] == turns


def test_all_pages_for_readers_are_in_the_navigation():
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    for page in ("glossary", "generated/commands"):
        assert f"\n{page}\n" in index.partition("{toctree}")[2]
    use = (ROOT / "docs" / "use" / "index.md").read_text("utf-8")
    assert "\n../generated/settings\n" in use.partition("{toctree}")[2]


def test_the_picture_of_the_readme_is_small():
    assert (ROOT / "docs" / "images" / "report.png").stat().st_size < 150_000
