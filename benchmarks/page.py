"""How smooth the report page of a long meeting is: seconds of zooming in a browser.

Two hours and 3,000 turns of eight speakers, with a reference and a waveform, are opened
in Debian's chromium without a graphics card, and zoomed in and out step by step. It
prints the milliseconds of script for a step, and those between two frames while every
frame is a step, which painting by the processor is part of::

    scripts/browser                       # gets chromium and playwright
    .venv/bin/python -m benchmarks.page   # the page goes to a temporary folder
    .venv/bin/python -m benchmarks.page --pictures FOLDER   # and what it looks like
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from sms_diar.pipeline.page.api import report_page
from sms_diar.report.html_page import Waveform, render
from sms_diar.types import Segment, Turn

HOURS = 2.0
N_TURNS = 3000
N_SPEAKERS = 8
PEAKS = 50.0  # of the waveform in a second
STEPS = 60

# Callbacks of frames are timed from outside, so that the page is as it is.
WATCH = """
window.spent = [];
const ask = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (act) => ask((now) => {
  const begun = performance.now();
  act(now);
  window.spent.push(performance.now() - begun);
});
window.plainFrame = ask;
"""
ZOOM = """
async (steps) => {
  const frame = () => new Promise((done) => window.plainFrame(done));
  const frames = [];
  window.spent.length = 0;
  await frame();
  let before = performance.now();
  for (let i = 0; i < steps; i++) {
    const half = Math.floor(i / 10) % 2;
    document.getElementById(half ? "zoom-out" : "zoom-in").click();
    await frame();
    const now = performance.now();
    frames.push(now - before);
    before = now;
  }
  return { frames, script: window.spent };
}
"""


def meeting(seed: int, shift: float = 0.0) -> list[Turn]:
    """Turns one after the other, now and then over each other."""
    rng = np.random.default_rng(seed)
    each = HOURS * 3600 / N_TURNS
    starts = np.sort(rng.uniform(0, HOURS * 3600 - 2 * each, N_TURNS)) + shift
    lengths = rng.gamma(2.0, each / 2.2, N_TURNS)
    who = rng.integers(N_SPEAKERS, size=N_TURNS)
    last = dict.fromkeys(range(N_SPEAKERS), 0.0)
    turns = []
    for start, length, one in zip(starts, lengths, who, strict=True):
        begin = max(float(start), last[int(one)] + 0.01)
        last[int(one)] = begin + max(float(length), 0.1)
        segment = Segment("meeting", begin, last[int(one)])
        turns.append(Turn(segment, f"speaker{one}"))
    return turns


def main() -> None:
    """Make the page, open it, zoom."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path)
    chosen = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    page = report_page(meeting(0), reference=meeting(0, 0.15)).page
    loud = np.random.default_rng(0).integers(0, 256, int(HOURS * 3600 * PEAKS))
    wave = Waveform(loud.astype(np.uint8), PEAKS)
    page = replace(page, recordings=(replace(page.recordings[0], waveform=wave),))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "meeting.html"
        path.write_text(render(page), encoding="utf-8")
        print(f"{path.stat().st_size / 1e6:.1f} MB")
        browser = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        sizes = {"desk": (1280, 900), "phone": (390, 844)}
        for name, (width, height) in sizes.items():
            for scheme in ("light", "dark"):
                context = browser.new_context(
                    viewport={"width": width, "height": height}, color_scheme=scheme
                )
                tab = context.new_page()
                tab.add_init_script(WATCH)
                tab.goto(path.as_uri())
                tab.wait_for_selector("html[data-ready]", state="attached")
                if scheme == "light":
                    tab.evaluate(ZOOM, 20)  # warm
                    found = tab.evaluate(ZOOM, STEPS)
                    for what, times in found.items():
                        half, most = np.percentile(times, [50, 95])
                        words = f"median {half:.1f} ms, 95 % within {most:.1f} ms"
                        print(f"{name}, {what}: {words}")
                if chosen.pictures:
                    chosen.pictures.mkdir(parents=True, exist_ok=True)
                    file = chosen.pictures / f"{name}-{scheme}.png"
                    tab.screenshot(path=file, full_page=True)
                context.close()
        browser.close()


if __name__ == "__main__":
    main()
