"""All messages and help texts of the package, compared with ``messages.txt``.

Tests elsewhere check the type and the data of an error; its wording is reviewed here,
in one diff. ``python tests/test_messages.py`` writes the file again.
"""

import ast
import functools
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import typer

from sms_diar import errors

ROOT = Path(__file__).parents[1]
GOLDEN = Path(__file__).with_name("messages.txt")

RAISED = {
    *(name for name, kind in vars(errors).items() if isinstance(kind, type)),
    *("ValueError", "FaultError", "BadParameter", "Problem", "warn"),
} - {"Path", "Any"}


def template(node):
    """Return the text of a string expression, with ``{}`` for values."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(map(template, node.values))
    if isinstance(node, ast.BinOp):
        return template(node.left) + template(node.right)
    return "{}"


def messages_before(tree):
    """Return the assignment of the message directly before each raise that has one."""
    found = {}
    for node in ast.walk(tree):
        for block in (getattr(node, name, None) for name in ("body", "orelse")):
            for first, second in pairwise(block if isinstance(block, list) else []):
                call = second.exc if isinstance(second, ast.Raise) else None
                if isinstance(first, ast.Assign) and getattr(call, "args", None):
                    name = ast.unparse(call.args[0])
                    if name == ast.unparse(first.targets[0]):
                        found[call] = first
    return found


def messages(source):
    """Yield the kind and the template of every message in the source of a module."""
    tree = ast.parse(source)
    before = messages_before(tree)
    assigned = defaultdict(list)
    for node in set(ast.walk(tree)) - set(before.values()):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            assigned[node.targets[0].id].append(template(node.value))
    raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    for node in ast.walk(tree):
        kind = getattr(getattr(node, "func", None), "id", None)
        kind = kind or getattr(getattr(node, "func", None), "attr", None)
        # Functions that make errors, such as ``raise source.fault(...)``, count too.
        is_maker = node in raised and kind and not kind.strip("_")[0].isupper()
        if not (kind in RAISED or is_maker) or not node.args:
            continue
        message = node.args[0]
        data = {keyword.arg: template(keyword.value) for keyword in node.keywords}
        head = f"{data['owner']}: " if "owner" in data else ""
        head += f"{data['parameter']} " if "parameter" in data else ""
        of_name = assigned[message.id] if isinstance(message, ast.Name) else []
        of_name = [template(before[node].value)] if node in before else of_name
        for text in of_name or [template(message)]:
            if any(letter.isalpha() for letter in text):
                yield kind, f"{head}{text}"


def help_texts(command, name):
    """Yield the declared texts of a command, its parameters and its subcommands."""
    yield f"{name}: {flat(command.help)}"
    for parameter in command.params:
        if parameter.name not in ("install_completion", "show_completion"):
            options = "/".join([*parameter.opts, *parameter.secondary_opts])
            yield f"{name} {options}: {flat(parameter.help)}"
    for word, inner in getattr(command, "commands", {}).items():
        yield from help_texts(inner, f"{name} {word}")


def flat(text):
    return " ".join((text or "").split())


@functools.cache
def collected():
    """Return the content of the golden file."""
    from sms_diar.cli.main import app

    found = {
        f"{kind}: {text}".replace("\n", "\\n")
        for folder in ("sms_diar", "recipes")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for kind, text in messages(path.read_text(encoding="utf-8"))
    }
    texts = help_texts(typer.main.get_command(app), "sms-diar")
    return "\n".join(["# Messages", *sorted(found), "", "# Help", *texts, ""])


def test_messages_and_help_texts_are_the_reviewed_ones():
    """If a change is meant, run this file as a script and review the difference."""
    reviewed = GOLDEN.read_text(encoding="utf-8")
    assert collected().splitlines() == reviewed.splitlines()


def test_no_message_outside_the_command_line_names_one_of_its_options():
    options = {
        line.split(": ")[0].split()[-1].split("/")[0]
        for line in collected().split("# Help\n")[1].splitlines()
        if " --" in line.split(": ")[0]
    }
    assert "--method" in options
    library = set((ROOT / "sms_diar").rglob("*.py"))
    library -= set((ROOT / "sms_diar" / "cli").rglob("*.py"))
    wrong = {
        text
        for path in library
        for _, text in messages(path.read_text(encoding="utf-8"))
        if any(word.strip("(),;.'") in options for word in text.split())
    }
    assert wrong == set()


def test_templates_are_found_in_every_form_of_a_call():
    source = """
TEXT = "constant"
warnings.warn(f"value {x:.2f} of {y}", stacklevel=2)
raise InvalidParameterError("must be " + rule, owner="f", parameter=name)
raise errors.ConfigError(TEXT) from None
raise TypeError("not ours")
raise source.fault("damaged", 3)
raise DataFormatError(str(error), path=path)
problem = f"first {x}"
raise ConfigError(problem)
problem = "second"
raise DataFormatError(problem, path=path)
"""
    assert list(messages(source)) == [
        ("warn", "value {} of {}"),
        ("InvalidParameterError", "f: {} must be {}"),
        ("ConfigError", "constant"),
        ("fault", "damaged"),
        ("ConfigError", "first {}"),
        ("DataFormatError", "second"),
    ]


if __name__ == "__main__":
    GOLDEN.write_text(collected(), encoding="utf-8")
