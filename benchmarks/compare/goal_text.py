"""What the report says about the goals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.compare import goals as targets
from benchmarks.compare.peers import OURS, head
from benchmarks.compare.words import (
    MISSING,
    PART_WORDS,
    interval,
    percent,
    share,
    signed,
)
from sms_diar.report.tables import Table

_SHOWN = 25  # conditions that miss the goal

_NUMBER_GOALS = (
    ("single", "one speaker found as one", f">= {percent(targets.SINGLE)}"),
    ("exact", "number right, {few}", f">= {percent(targets.EXACT)}"),
    ("within", "number within one, {few}", f">= {percent(targets.WITHIN)}"),
    ("collapsed", f"found as one, of {targets.CROWD} speakers or more", "none"),
)
_FEW = (
    f"{targets.SPEAKERS[0]} to {targets.SPEAKERS[1]} speakers, "
    f"{targets.SECONDS[0]:g} s to {targets.SECONDS[1] / 60:g} min"
)


def goal_table(goals: Mapping[str, Any]) -> Table:
    """What the default is held to, and how near it comes in each part."""
    columns = [part for part in PART_WORDS if part in goals]
    parts = [goals[part] for part in columns]
    rows = [
        (
            "worst condition, against its best rival",
            f">= {signed(targets.WORST)}",
            *(_worst_cell(part["worst"]) for part in parts),
        ),
        (
            f"conditions more than {share(-targets.WORST)} below",
            "none",
            *(
                _missed(f"{len(part['below'])} of {part['conditions']}", part["below"])
                for part in parts
            ),
        ),
    ]
    for rival in targets.RIVALS:
        if any(rival in part["means"] for part in parts):
            cells = [_mean_cell(part["means"].get(rival)) for part in parts]
            rows.append(
                (f"mean difference to {rival}", f">= {signed(targets.MEAN)}", *cells)
            )
    for goal, words, wanted in _NUMBER_GOALS:
        cells = [_count_cell(part["numbers"].get(OURS), goal) for part in parts]
        rows.append((words.format(few=_FEW), wanted, *cells))
    speakers, seconds, off = targets.LONG
    if any(part["long"] for part in parts):
        cells = [_long_cell(part["long"].get(OURS)) for part in parts]
        rows.append(
            (
                f"{speakers} speakers, {seconds / 3600:g} h: found",
                f"{speakers} +- {off}",
                *cells,
            )
        )
    heads = ("goal", "wanted", *(PART_WORDS[part] for part in columns))
    return Table(heads, tuple(rows), n_left=2)


def method_table(numbers: Mapping[str, Any]) -> Table:
    """The goals about numbers of speakers, of all methods."""
    rows = [
        (words.format(few=_FEW), *(_plain_count(own[goal]) for own in numbers.values()))
        for goal, words, _ in _NUMBER_GOALS
    ]
    return Table(("", *map(head, numbers)), tuple(rows))


def below_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Conditions that miss the goal, worst first."""
    cells = tuple(
        (
            row["condition"],
            share(row["ours"]),
            share(row["theirs"]),
            head(row["rival"]),
            signed(row["difference"]),
        )
        for row in rows[:_SHOWN]
    )
    return Table(("condition", OURS, "best", "rival", "difference"), cells)


def goal_lines(goals: Mapping[str, Any], drift: Mapping[str, Any]) -> list[str]:
    """The same as `goal_table` in sentences, for a terminal."""
    lines = []
    for part, words in PART_WORDS.items():
        if part not in goals or goals[part]["worst"] is None:
            continue
        own, worst = goals[part], goals[part]["worst"]
        means = [
            f"{rival} {signed(found['estimate'])}"
            for rival, found in own["means"].items()
        ]
        lines.append(
            f"{words}: worst condition {signed(worst['difference'])} "
            f"({worst['condition']}, against {worst['rival']}); {len(own['below'])} of "
            f"{own['conditions']} more than {share(-targets.WORST)} below their best "
            f"rival; on average against {', '.join(means)}."
        )
        numbers = own["numbers"][OURS]
        told = [
            f"{_plain_count(numbers[goal])} {text.format(few=_FEW)}"
            for goal, text, _ in _NUMBER_GOALS
            if numbers[goal][1]
        ]
        lines.append(f"{words}: {'; '.join(told)}.")
    if OURS in drift.get("all", {}).get("methods", {}):
        found = drift["all"]["methods"][OURS]
        lines.append(
            f"doubled sessions: {signed(found['drift'])} speakers on average, the same "
            f"number in {percent(found['same'])}."
        )
    return lines


def goal_section(
    goals: Mapping[str, Any], drift: Mapping[str, Any], title: str
) -> Iterator[str]:
    """Section of the goals; bold is what misses one."""
    if not goals:
        return
    yield f"## {title}\n"
    yield (
        f"{OURS} against {', '.join(targets.RIVALS)}, each at its defaults: K, and on "
        f"windows and lengths the share of windows right. Doubled sessions are not "
        f"among them. Bold: missed.\n"
    )
    yield goal_table(goals).markdown()
    if "all" in drift:
        own = drift["all"]["methods"].get(OURS)
        if own is not None:
            yield (
                f"Doubling every speaker's segments changes the number of speakers by "
                f"{signed(own['drift'])} on average and leaves it in "
                f"{percent(own['same'])} of {drift['all']['pairs']} sessions.\n"
            )
    alone = goals.get("no PLDA")
    if alone is None:
        return
    yield "Numbers of speakers without a PLDA model, all methods:\n"
    yield method_table(alone["numbers"]).markdown()
    if alone["below"]:
        shown = min(_SHOWN, len(alone["below"]))
        yield (
            f"Conditions without a PLDA model that are more than "
            f"{share(-targets.WORST)} below their best rival ({shown} of "
            f"{len(alone['below'])}, worst first):\n"
        )
        yield below_table(alone["below"]).markdown()


def _missed(text: str, missed: Any) -> str:
    return f"**{text}**" if missed else text


def _worst_cell(worst: Mapping[str, Any] | None) -> str:
    if worst is None:
        return MISSING
    text = f"{signed(worst['difference'])} ({worst['condition']}; {worst['rival']})"
    return _missed(text, worst["difference"] < targets.WORST)


def _mean_cell(found: Mapping[str, float] | None) -> str:
    if found is None:
        return MISSING
    return _missed(interval(found), found["estimate"] < targets.MEAN)


def _count_cell(numbers: Mapping[str, Sequence[int]] | None, goal: str) -> str:
    if numbers is None or not numbers[goal][1]:
        return MISSING
    right, total = numbers[goal]
    least = {
        "single": targets.SINGLE,
        "exact": targets.EXACT,
        "within": targets.WITHIN,
    }
    missed = right > 0 if goal == "collapsed" else right < least[goal] * total
    return _missed(_plain_count(numbers[goal]), missed)


def _plain_count(count: Sequence[int]) -> str:
    right, total = count
    return f"{percent(right / total)} ({right} of {total})" if total else MISSING


def _long_cell(found: Sequence[float] | None) -> str:
    if not found:
        return MISSING
    speakers, _, off = targets.LONG
    missed = any(abs(number - speakers) > off for number in found)
    return _missed(", ".join(f"{number:g}" for number in found), missed)
