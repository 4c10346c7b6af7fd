"""Report: a row per system, a row per recording, and a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sms_diar._files import write_text
from sms_diar._json import read_json, write_json
from sms_diar.experiment.stages import StageRun
from sms_diar.report.figures import COLOURS
from sms_diar.report.provenance import describe, stamp
from sms_diar.report.tables import Table

from .._common import figures
from .layouts import LAYOUTS, Rules
from .simulated import meeting_table, read_meetings
from .steps import (
    COUNT,
    DIARIZED,
    FOUND,
    LABELS,
    ORACLES,
    PREPARED,
    SCORES,
    SPEECH,
    stage_of,
)

PARTS = ("missed", "false_alarm", "confusion")
WORDS = {
    COUNT: "oracle: the number of speakers is known",
    SPEECH: "oracle: it is known where speech is",
    LABELS: "oracle: it is known whose voice it is",
}
SIMULATE = "simulate"
"""Name of the stage that makes meetings."""

MOST_BARS = 60
"""Maximum number of recordings in the picture: those with the highest DER."""


def write_report(
    run: StageRun, settings: Mapping[str, Any], model: str, rules: Rules
) -> None:
    """Write results.json, the tables, the picture and the texts."""
    prepared = read_json(run.before["prepare"] / PREPARED)
    scores = read_json(run.before["score"] / SCORES)
    diarized = {
        system: read_json(run.before[stage_of(system)] / DIARIZED)
        for system in scores["systems"]
    }
    results = {
        "stamp": stamp(seed=settings["seed"], settings=settings),
        "model": model,
        "applied": asdict(rules),
        **scores,
        "seconds": sum(
            one["seconds"] or 0.0 for one in prepared["recordings"].values()
        ),
        "problems": [*prepared["problems"], *_left_out(diarized)],
        "cpu": {
            system: _cpu(outcomes, prepared["recordings"])
            for system, outcomes in diarized.items()
        },
        "notes": [note for one in diarized[FOUND].values() for note in one["notes"]],
    }
    if SIMULATE in run.before:
        results["meetings"] = read_meetings(run.before[SIMULATE])
    write_json(run.folder / "results.json", results)
    write_text(run.folder / "table.csv", recording_table(results, every=True).csv())
    write_text(run.folder / "systems.csv", system_table(results).csv())
    for stale in ("der.png", "der.pdf", "systems.png", "systems.pdf"):
        (run.folder / stale).unlink(missing_ok=True)
    if settings["figures"]:
        draw_parts(run.folder, results["systems"][FOUND]["recordings"])
        draw_systems(run.folder, results)
    write_text(run.folder / "report.md", _markdown(results))
    write_text(run.folder / "summary.txt", _terminal(results, run.folder))


def system_table(results: Mapping[str, Any]) -> Table:
    """Return a row for each system, all recordings pooled."""
    rows = []
    for system, scores in results["systems"].items():
        recordings = scores["recordings"].values()
        off = [abs(one["n_hyp"] - one["n_ref"]) for one in recordings]
        *parts, der, jer = _rates(scores["overall"])
        cpu = results["cpu"][system]
        rows.append(
            (
                _name(results, system),
                der,
                _bounds(scores["interval"]),
                _percent(scores["other_collar"]["der"]),
                *parts,
                jer,
                f"{off.count(0)} of {len(off)}",
                f"{sum(miss <= 1 for miss in off)} of {len(off)}",
                "-" if cpu is None else f"{cpu:.3f}",
                _difference(scores.get("difference")),
            )
        )
    *heads, der, jer = _heads()
    collar = results["systems"][FOUND]["other_collar"]["collar"]
    other = f"collar {collar:g} s" if collar else "no collar"
    left = ("system", der, "95 % interval", f"DER %, {other}")
    right = (jer, "speakers right", "within 1", "CPU s/s", "difference to the first")
    return Table((*left, *heads, *right), tuple(rows))


def recording_table(results: Mapping[str, Any], *, every: bool = False) -> Table:
    """Return a row for each recording, of the first system or of all systems."""
    rows = []
    for system, scores in results["systems"].items():
        if system != FOUND and not every:
            continue
        named = [*sorted(scores["recordings"].items()), ("all", scores["overall"])]
        for name, one in named:
            cells = (
                name,
                str(one["n_ref"]),
                str(one["n_hyp"]),
                f"{one['scored']:.2f}",
                *_rates(one),
            )
            rows.append((system, *cells) if every else cells)
    heads = ("recording", "speakers", "found", "scored s", *_heads())
    return Table(("given", *heads) if every else heads, tuple(rows))


def draw_parts(folder: Path, recordings: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw bars of missed speech, false alarms and confusion, the worst on top."""
    scored = [(name, one) for name, one in recordings.items() if one["scored"]]
    worst = sorted(scored, key=lambda item: (-item[1]["der"], item[0]))[:MOST_BARS]
    shown = worst[::-1]  # bars are drawn from the bottom
    figure, axes = figures.new_figure(1, 1, width=7, height=1.3 + 0.24 * len(shown))
    panel = axes[0, 0]
    left = [0.0] * len(shown)
    for part, colour in zip(PARTS, COLOURS, strict=False):
        widths = [100.0 * one[part] / one["scored"] for _, one in shown]
        panel.barh(
            range(len(shown)), widths, left=left, color=colour, label=_word(part)
        )
        left = [start + width for start, width in zip(left, widths, strict=True)]
    panel.set_yticks(range(len(shown)), [name for name, _ in shown], fontsize=8)
    panel.margins(x=0.02)
    panel.set(xlabel="diarization error rate (DER) and its parts, % of scored speech")
    panel.set_ylabel("recording, the worst on top")
    panel.legend(fontsize=8, loc="lower right")
    figures.save_figure(figure, folder, "der")


def draw_systems(folder: Path, results: Mapping[str, Any]) -> None:
    """Draw the DER of each system with its interval, the first on top."""
    systems = list(results["systems"].items())[::-1]  # drawn from the bottom
    systems = [item for item in systems if item[1]["overall"]["der"] is not None]
    figure, axes = figures.new_figure(1, 1, width=7, height=1.3 + 0.3 * len(systems))
    panel = axes[0, 0]
    ders = [100.0 * scores["overall"]["der"] for _, scores in systems]
    panel.barh(range(len(systems)), ders, color=COLOURS[0])
    for row, (_, scores) in enumerate(systems):
        interval = scores["interval"]
        if interval is not None:
            bounds = [100.0 * interval[side] for side in ("low", "high")]
            panel.plot(bounds, [row, row], color="black", marker="|", lw=1.2)
    names = [_name(results, system) for system, _ in systems]
    panel.set_yticks(range(len(systems)), names, fontsize=8)
    panel.set(xlabel="diarization error rate (DER), %; lines: 95 % intervals")
    panel.set_ylabel("system")
    figures.save_figure(figure, folder, "systems")


def _name(results: Mapping[str, Any], system: str) -> str:
    """Return the name of a system in tables."""
    return str(results["model"]) if system == FOUND else WORDS.get(system, system)


def _cpu(outcomes: Mapping[str, Any], recordings: Mapping[str, Any]) -> float | None:
    """Return CPU seconds per second of the recordings whose CPU time is known."""
    timed = {
        name: one["cpu"] for name, one in outcomes.items() if one["cpu"] is not None
    }
    seconds = sum(recordings[name]["seconds"] or 0.0 for name in timed)
    return sum(timed.values()) / seconds if seconds else None


def _percent(rate: float | None, sign: str = "") -> str:
    return "-" if rate is None else f"{100.0 * rate:{sign}.2f}"


def _bounds(interval: Mapping[str, Any] | None, sign: str = "") -> str:
    if interval is None:
        return "-"
    return " to ".join(_percent(interval[side], sign) for side in ("low", "high"))


def _difference(interval: Mapping[str, Any] | None) -> str:
    if interval is None:
        return "-"
    return f"{_percent(interval['estimate'], '+')} ({_bounds(interval, '+')})"


def _heads() -> tuple[str, ...]:
    return (*(f"{_word(part)} %" for part in PARTS), "DER %", "JER %")


def _word(part: str) -> str:
    return part.replace("_", " ")


def _rates(one: Mapping[str, Any]) -> list[str]:
    """Format the parts of DER in per cent of the scored speech, DER and JER."""
    parts = [one[part] / one["scored"] if one["scored"] else None for part in PARTS]
    return [_percent(rate) for rate in (*parts, one["der"], one["jer"])]


def _left_out(diarized: Mapping[str, Any]) -> list[str]:
    return [
        one["problem"]
        if system == FOUND
        else f"{one['problem']} ({WORDS.get(system, system)})"
        for system, recordings in diarized.items()
        for one in recordings.values()
        if one["problem"]
    ]


def _about(results: Mapping[str, Any]) -> str:
    settings = results["stamp"]["settings"]
    part = f", {settings['split']}" if settings["split"] else ""
    microphone = f", {settings['microphone']}" if settings["layout"] == "ami" else ""
    return (
        f"{settings['data']} (layout {settings['layout']}{part}{microphone}): "
        f"{len(results['systems'][FOUND]['recordings'])} recordings, "
        f"{results['seconds'] / 3600.0:.2f} h; model {results['model']}, method "
        f"{settings['method']}."
    )


def _rules(results: Mapping[str, Any]) -> str:
    layout = results["stamp"]["settings"]["layout"]
    usual, applied = asdict(LAYOUTS[layout].rules), results["applied"]
    changed = [
        f"{name} {applied[name]} (usually {usual[name]})"
        for name in usual
        if usual[name] != applied[name]
    ]
    custom = (
        f"not the rules that are customary for layout {layout}: {', '.join(changed)}"
        if changed
        else f"the rules that are customary for layout {layout}"
    )
    return f"Scored: {'; '.join(results['rules'])} ({custom})."


def _problems(results: Mapping[str, Any]) -> list[str]:
    found = results["problems"]
    return [f"Problems, whose consequences DER includes: {len(found)}"] * bool(found)


def _remarks(results: Mapping[str, Any]) -> list[str]:
    """Explain columns of the table of systems, and name peers that are not in it."""
    settings = results["stamp"]["settings"]
    python = settings["python"] or "this Python"
    return [
        f"95 % intervals: bootstrap of recordings. Difference: DER minus the DER of "
        f"{results['model']} on the same recordings. CPU s/s: CPU seconds per second "
        f"of audio in one thread, of commands with their start, of others without the "
        f"loading of networks.",
        *(f"Not run, because {python} has no {name}." for name in settings["absent"]),
    ]


def _markdown(results: Mapping[str, Any]) -> str:
    picture = results["stamp"]["settings"]["figures"]
    parts = [
        "# Conversations\n",
        f"{describe(results['stamp'])}.\n",
        f"{_about(results)}\n",
        f"{_rules(results)}\n",
        system_table(results).markdown(),
        *(f"{line}\n" for line in _remarks(results)),
        *(["![DER of the systems](systems.png)\n"] if picture else []),
        *_meetings(results),
        f"Recordings, {results['model']}:\n",
        recording_table(results).markdown(),
        *(["![Parts of DER](der.png)\n"] if picture else []),
        *(f"{line}:\n" for line in _problems(results)),
        *(f"- {line}" for line in results["problems"]),
    ]
    return "\n".join(parts) + "\n"


def _meetings(results: Mapping[str, Any], *, plain: bool = False) -> list[str]:
    """Return the simulated conditions with their DER; empty for other corpora."""
    meetings = results.get("meetings")
    if meetings is None:
        return []
    made = results["stamp"]["settings"]["meetings"]
    systems = results["systems"]
    shown = tuple(system for system in systems if system not in ORACLES)
    models = [_name(results, system) for system in shown]
    again = sum(bool(one["notes"]) for one in meetings.values())
    text = (
        f"DER % of each meeting, {' / '.join(models)}. A meeting has "
        f"{made['seconds'] / 60.0:g} minutes, a room with a reverberation of "
        f"{made['rt60']:g} s and {made['noise']} noise at {made['snr']:g} dB. Pauses "
        f"in the speech that it is made of were found by the detector {made['vad']!r}. "
        f"In {again} of {len(meetings)} meetings speech recurs: their speakers have "
        f"no more."
    )
    table = meeting_table(meetings, systems, shown)
    if plain:
        return [*textwrap.wrap(text, 88), "", table.plain()]
    return [f"{text}\n", table.markdown()]


def _terminal(results: Mapping[str, Any], folder: Path) -> str:
    lines = [
        *textwrap.wrap(_about(results), 88),
        "",
        *(part.plain() for part in system_table(results).folded(88, 20)),
        *(line for text in _remarks(results) for line in textwrap.wrap(text, 88)),
        *_meetings(results, plain=True),
        *textwrap.wrap(_rules(results), 88),
        *_problems(results),
        f"Tables: {folder}",
    ]
    return "\n".join(lines) + "\n"
