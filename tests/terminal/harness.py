"""Long commands on a terminal: what is seen within 2 s, and how Ctrl-C ends them.

`scripts/soak terminal` runs this file. Each command gets a terminal of its own and work
for much longer than is waited for. It must show its stage and the time left (or that
nothing is known of it yet) within `SEEN` seconds, and after Ctrl-C, which reaches its
workers as well, end within `ENDED` seconds with exit code 130 and a line that tells how
to go on. Seconds depend on what else the machine does: let it do nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

SEEN = 2.0
ENDED = 2.0
LATER = 5.0  # seconds from the first bar to Ctrl-C: the work is in full swing
BAR = re.compile(rb"(\S[^\r\n\x1b]*?) .*(?:\d|-):(?:\d\d|--):(?:\d\d|--) left")
COLOURS = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")
# In background jobs Ctrl-C is ignored, and Python leaves it so.
MAIN = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from sms_diar.cli.main import main; main()"
)
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Seen:
    """What a user saw on the terminal."""

    first: float  # seconds until a bar with a time left; infinite if there was none
    label: str  # name of the bar
    ended: float  # seconds from Ctrl-C to the end
    code: int  # exit code
    last: str  # last line

    @property
    def faults(self) -> list[str]:
        """What is not as promised."""
        found = []
        if self.first > SEEN:
            found.append("late")
        if self.ended > ENDED:
            found.append("slow to end")
        if self.code != 130:
            found.append(f"exit code {self.code}")
        if not re.fullmatch("sms-diar: interrupted; .+", self.last):
            found.append("does not say how to go on")
        return found


class Terminal:
    """A command with a terminal of 100 columns.

    The variables of `environment` are added to those of this process.
    """

    def __init__(self, *words: str, environment: dict[str, str]) -> None:
        self.shown = b""
        self._side, other = pty.openpty()
        variables = {**os.environ, "COLUMNS": "100", "TERM": "xterm", **environment}
        self.started = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-c", MAIN, *words],
            stdin=other,
            stdout=other,
            stderr=other,
            env=variables,
            start_new_session=True,  # a group of its own, as shells make
        )
        os.close(other)

    def read(self, seconds: float) -> bool:
        """Take what is shown meanwhile; False if nothing more will come."""
        if not select.select([self._side], [], [], max(0.0, seconds))[0]:
            return True
        try:
            piece = os.read(self._side, 1 << 16)
        except OSError:  # how Linux tells that the other side is closed
            return False
        self.shown += piece
        return bool(piece)

    def interrupt(self) -> None:
        """Do what a terminal does at Ctrl-C: tell the command and its workers."""
        os.killpg(self._process.pid, signal.SIGINT)

    def end(self) -> int:
        """Exit code."""
        is_open = True
        while is_open and self._process.poll() is None:
            is_open = self.read(1.0)
        while is_open and select.select([self._side], [], [], 0.0)[0]:
            is_open = self.read(0.0)
        code = self._process.wait()
        os.close(self._side)
        return code

    def lines(self) -> list[str]:
        """What was shown, without colours."""
        text = COLOURS.sub(b"", self.shown).decode("utf-8", "replace")
        return [line.strip() for line in re.split(r"[\r\n]+", text) if line.strip()]


def look_at(
    words: list[str], environment: dict[str, str], longest: float, later: float
) -> Seen:
    """Start a command, wait for a bar, and press Ctrl-C a while later."""
    terminal = Terminal(*words, environment=environment)
    first, label = float("inf"), ""
    deadline = terminal.started + longest
    more = True
    while more and first == float("inf") and time.monotonic() < deadline:
        more = terminal.read(0.05)
        found = BAR.search(COLOURS.sub(b"", terminal.shown))
        if found:
            first = time.monotonic() - terminal.started
            label = " ".join(found[1].decode("utf-8", "replace").split())
            deadline = time.monotonic() + later
    while more and time.monotonic() < deadline:
        more = terminal.read(0.05)
    pressed = time.monotonic()
    if more:
        terminal.interrupt()
    code = terminal.end()
    ended = time.monotonic() - pressed
    return Seen(first, label, ended, code, (terminal.lines() or [""])[-1])


# --- work for minutes ---------------------------------------------------------


def _machines() -> ModuleType:
    path = ROOT / "tests" / "machines" / "harness.py"
    spec = importlib.util.spec_from_file_location("machines_harness", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["machines_harness"] = module
    spec.loader.exec_module(module)
    return module


def write_work(folder: Path, recordings: int) -> None:
    """Recordings, vectors and turns, enough of them for minutes."""
    import soundfile

    from sms_diar.io.embeddings.files import write_embeddings
    from sms_diar.types import EmbeddingSet

    data = _machines().write_recordings(folder / "data", recordings)
    names = [line.split()[0] for line in (data / "wav.scp").read_text().splitlines()]
    (data / "utt2spk").write_text("".join(f"{name} {name}\n" for name in names))
    pieces = [soundfile.read(data / f"{name}.wav")[0] for name in names[:150]]
    soundfile.write(folder / "long.wav", np.concatenate(pieces), 8000)
    rng = np.random.default_rng(3)
    voices = 4.0 * rng.standard_normal((40, 64))
    for name, rows in {"many": 30_000, "few": 6_000}.items():
        X = voices[rng.integers(len(voices), size=rows)]
        X = X + rng.standard_normal(X.shape)
        ids = tuple(f"u{row:06d}" for row in range(rows))
        write_embeddings(folder / f"{name}.npz", EmbeddingSet(ids, X))
    write_embeddings(
        folder / "sessions.npz",
        EmbeddingSet(tuple(f"r{row // 100:04d}-{row:06d}" for row in range(40_000)),
                     rng.standard_normal((40_000, 24))),
    )  # fmt: skip
    (folder / "segments").write_text(
        "".join(f"r{row // 100:04d}-{row:06d} r{row // 100:04d} {row % 100} "
                f"{row % 100 + 1}\n" for row in range(40_000))
    )  # fmt: skip
    for name in ("ref", "sys"):
        with (folder / f"{name}.rttm").open("w") as file:
            for recording in range(1000):
                starts = np.arange(400) * 10.0
                lengths = rng.uniform(1.0, 15.0, 400).round(2)
                for turn, (at, long) in enumerate(zip(starts, lengths, strict=True)):
                    file.write(f"SPEAKER m{recording} 1 {at:.2f} {long:.2f} <NA> <NA> "
                               f"s{turn % 5} <NA> <NA>\n")  # fmt: skip


def commands(folder: Path) -> dict[str, list[str]]:
    """Words of the long commands; `@` marks those for a scheduler."""
    at = str(folder)
    data = f"{at}/data"
    sessions = [
        "--set",
        "speakers=[3]",
        "--set",
        "runs=20000",
        "--set",
        "figures=false",
    ]
    systems = [f"{at}/ref.rttm", f"{at}/sys.rttm"]
    train = ["ivectors", "train", data, "--components", "64", "--rank", "20", "--vad",
             "none"]  # fmt: skip
    several = ["cluster", f"{at}/sessions.npz", "--segments", f"{at}/segments"]
    return {
        "run": ["run", "speakers", "--exp", f"{at}/exp", *sessions],
        "cluster": ["cluster", f"{at}/many.npz", "-o", f"{at}/a.txt"],
        "cluster, sessions": [*several, "-o", f"{at}/b.txt"],
        "diarize, a folder": ["diarize", data, "--model", "embedded",
                              "--rttm", f"{at}/d.rttm"],
        "diarize, 2 workers": ["diarize", data, "--model", "embedded", "--workers", "2",
                               "--rttm", f"{at}/e.rttm"],
        "diarize, half an hour": ["diarize", f"{at}/long.wav", "--model", "embedded",
                                  "--rttm", f"{at}/f.rttm"],
        "diarize, networks": ["diarize", f"{at}/long.wav", "--model", "neural",
                              "--rttm", f"{at}/g.rttm"],
        "features": ["features", data, "-o", f"{at}/h.ark"],
        "ivectors train": [*train, "-o", f"{at}/i.npz"],
        "ivectors train, 2 workers": [*train, "--workers", "2", "-o", f"{at}/j.npz"],
        "score": ["score", *systems, "--bootstrap", "200000"],
        "models fetch": ["models", "fetch", "campplus"],
        "simulate": ["simulate", data, "-o", f"{at}/k", "--conversations", "500",
                     "--speakers", "3", "--duration", "60"],
        "run @": ["run", "speakers", "--exp", f"{at}/exp2", *sessions],
        "cluster @": [*several, "-o", f"{at}/l.txt"],
        "diarize @": ["diarize", data, "--model", "embedded", "--rttm", f"{at}/m.rttm"],
        "features @": ["features", data, "-o", f"{at}/n.ark"],
        "ivectors train @": [*train, "-o", f"{at}/o.npz"],
        "score @": ["score", *systems, "--bootstrap", "200000"],
    }  # fmt: skip


def main() -> int:
    """Look at one command after another, and end with 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--recordings", type=int, default=1500)
    parser.add_argument("--longest", type=float, default=20.0, help="to wait for a bar")
    options = parser.parse_args()
    wrong = 0
    print(f"{'command':26} {'seen':>6} {'ended':>6}  shown as, said at the end")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_work(folder, options.recordings)
        (folder / "machines").mkdir()
        with _machines().machines(folder / "machines", 2) as cluster:
            for command, words in commands(folder).items():
                if options.only and not any(one in command for one in options.only):
                    continue
                more = ["--scheduler", cluster.address] if "@" in command else []
                fetches = words[0] == "models"  # which may take two seconds
                seen = look_at(
                    [*words, *more],
                    {"XDG_CACHE_HOME": name} if fetches else {},
                    options.longest,
                    0.2 if fetches else LATER,
                )
                wrong += bool(seen.faults)
                print(
                    f"{command:26} {seen.first:5.2f}s {seen.ended:5.2f}s  {seen.label}"
                )
                print(f"{'':42}{seen.last}", flush=True)
                for fault in seen.faults:
                    print(f"{'':42}FAULT: {fault}", flush=True)
    print(f"{wrong} command(s) did not keep a promise")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
