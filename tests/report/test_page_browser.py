"""The report page in a real browser: Debian's chromium, driven by playwright."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sms_diar.io.registry import TRANSCRIPT_FORMATS, WRITTEN_TRANSCRIPTS
from sms_diar.io.transcripts.files import read_transcript, transcript_text
from sms_diar.io.turns.rttm import read_rttm, rttm_text
from sms_diar.pipeline.page.api import ReportPage, report_page
from sms_diar.timeline.transcript import Phrase, Transcript, Word, split_words
from sms_diar.types import Segment, Turn

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=no-user-gesture-required",
]
HOSTILE = [
    "<img/src=x/onerror=hacked=1>",
    "</script><script>hacked=1</script>",
    "\"'><svg/onload=hacked=1>",
    "{{script}}",
    "javascript:hacked=1",
    "<!--<script>",
    "\u200fevil",
    "__proto__",
]
RATE = 16000


def turn(start, end, speaker, recording="call"):
    return Turn(Segment(recording, start, end), speaker)


TURNS = [
    turn(0.5, 2.5, "ann"),
    turn(3.0, 4.0, "bob"),
    turn(4.0, 6.0, "cy"),
    turn(7.0, 8.5, "ann"),
    turn(8.0, 9.0, "bob"),
    turn(9.25, 9.75, "cy"),
]
TRUTH = [
    turn(0.5, 2.5, "ANN"),
    turn(3.0, 4.0, "BOB"),
    turn(4.0, 6.5, "CY"),
    turn(7.0, 9.75, "ANN"),
]


def phrase(start, end, speaker, text, **values):
    """A phrase whose words last equally long; `values` are of all its words."""
    parts = split_words(text)
    step = (end - start) / len(parts)
    words = (
        Word(
            word,
            round(start + i * step, 3),
            round(start + (i + 1) * step, 3),
            is_joined=is_joined,
            **values,
        )
        for i, (word, is_joined) in enumerate(parts)
    )
    return Phrase("call", start, end, speaker, tuple(words))


HEBREW = "\u05d8\u05d5\u05d1 \u05de\u05d0\u05d5\u05d3"
PHRASES = (
    phrase(0.5, 2.5, "ann", "Good morning, shall we", confidence=0.875),
    phrase(3.0, 4.0, "bob", "yes, the morning", speaker_confidence=0.25),
    phrase(4.0, 6.0, "cy", HEBREW, is_estimated=True),
    phrase(6.2, 6.8, None, "[cough]"),
    phrase(7.0, 8.5, "ann", '=1 \u4f60\u597d, "the" end'),
)


def tones(turns, seconds):
    """A tone for each turn, the higher the later it begins: 100 Hz a second."""
    time = np.arange(int(seconds * RATE)) / RATE
    samples = np.zeros(len(time))
    for one in turns:
        inside = (time >= one.segment.start) & (time < one.segment.end)
        pitch = 400 + 100 * int(one.segment.start)
        samples[inside] += 0.3 * np.sin(2 * np.pi * pitch * time[inside])
    return samples, RATE


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="no playwright; scripts/browser gets it"
    )
    if CHROMIUM is None:
        pytest.skip("no chromium; scripts/browser gets it where apt is there")
    with sync_api.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages that several tests open."""
    folder = tmp_path_factory.mktemp("pages")
    sound = tones(TURNS, 10.0)
    kinds = {
        "call": report_page(TURNS, audio=sound, reference=TRUTH),
        "beside": report_page(TURNS, audio=sound, embed_limit=0.0),
        "plain": report_page(TURNS),
        "words": report_page(TURNS, audio=sound, transcript=Transcript(PHRASES)),
        "talk": report_page(TURNS, transcript=Transcript(tuple(talk(60)))),
        "hostile": report_page(
            [turn(2.0 * i, 2.0 * i + 1.5, n) for i, n in enumerate(HOSTILE)],
            reference=[turn(2.0 * i, 2.0 * i + 1, n) for i, n in enumerate(HOSTILE)],
            title="<script>hacked=1</script>",
        ),
    }
    crowd = (Segment("call", 7.5, 9.0),)
    [call] = kinds["plain"].page.recordings
    crowded = replace(
        kinds["plain"].page, recordings=(replace(call, unresolved=crowd),)
    )
    kinds["crowded"] = ReportPage(crowded)
    for name, page in kinds.items():
        page.write(folder / f"{name}.html")
    return folder


@pytest.fixture
def visit(browser, pages):
    """Open a page; whatever it says or asks for is checked when the test ends."""
    contexts, complaints, requests = [], [], []

    def open_page(name, **options):
        context = browser.new_context(accept_downloads=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda problem: complaints.append(str(problem)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto((pages / f"{name}.html").as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    outside = [url for url in requests if not re.match(r"file:|blob:|data:", url)]
    assert outside == []


def lane_of(page, speaker, kind="found"):
    """Middle of a lane of the timeline, in pixels below its top."""
    row = page.locator(f'#lanes [data-lane="{kind}"]', has_text=speaker).first
    top = page.locator("#timeline").bounding_box()["y"]
    box = row.bounding_box()
    return box["y"] + box["height"] / 2 - top


def place_of(page, time):
    """Where a time is along the timeline, in pixels."""
    width = page.locator("#timeline").bounding_box()["width"]
    start, end = view_of(page)
    return (time - start) / (end - start) * width


def view_of(page):
    canvas = page.locator("#timeline")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => done()))")
    return tuple(float(canvas.get_attribute(f"data-{end}")) for end in ("from", "to"))


def colour_at(page, x, y):
    return page.evaluate(
        """([x, y]) => {
            const canvas = document.getElementById("timeline");
            const scale = canvas.width / canvas.clientWidth;
            const one = new OffscreenCanvas(1, 1);
            const pen = one.getContext("2d", { willReadFrequently: true });
            pen.drawImage(canvas, -Math.round(x * scale), -Math.round(y * scale));
            return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
        }""",
        [x, y],
    )


def test_a_band_shows_where_people_cannot_be_told_apart(visit):
    assert visit("plain").locator('[data-lane="unresolved"]').count() == 0
    page = visit("crowded")
    told = "more people talk than can be told apart"
    row = page.locator('#lanes [data-lane="unresolved"]')
    assert row.get_attribute("title") == told
    assert told in page.locator("#legend").inner_text()
    box, canvas = row.bounding_box(), page.locator("#timeline").bounding_box()
    y = box["y"] + box["height"] / 2 - canvas["y"]
    left, right = place_of(page, 7.6), place_of(page, 8.9)
    inside = {tuple(colour_at(page, left + x, y)) for x in range(12)}
    outside = {tuple(colour_at(page, 10 + x, y)) for x in range(12)}
    assert len(inside) > 1  # hatched
    assert len(outside) == 1
    page.mouse.move(canvas["x"] + (left + right) / 2, canvas["y"] + y)
    assert page.locator("#hint").inner_text().startswith(told)


def click_turn(page, time, speaker):
    page.locator("#timeline").click(
        position={"x": place_of(page, time), "y": lane_of(page, speaker)}
    )


def downloaded(page):
    with page.expect_download() as waiting:
        page.click("#download")
    path = waiting.value.path()
    return path.read_text(encoding="utf-8"), waiting.value.suggested_filename


def lines(text):
    """Start, duration and speaker of the lines of RTTM."""
    return [tuple(line.split()[i] for i in (3, 4, 7)) for line in text.splitlines()]


def test_turns_are_drawn_in_the_colours_of_their_speakers(visit):
    page = visit("plain")
    y = lane_of(page, "bob")
    assert colour_at(page, place_of(page, 3.9), y) == [0xD5, 0x5E, 0x00]
    assert colour_at(page, place_of(page, 2.2), y) == [0xF3, 0xF5, 0xF8]


def test_reference_stands_above_what_was_found_with_errors_marked(visit):
    page = visit("call")
    order = page.locator("#lanes [data-lane]").evaluate_all(
        "rows => rows.map(row => row.dataset.lane)"
    )
    assert order == ["truth"] * 3 + ["found"] * 3 + ["errors"]
    # CY is missed from 6 to 6.5 s: the top third of the lane of errors.
    y = lane_of(page, "Errors", "errors") - 11
    assert colour_at(page, place_of(page, 6.25), y) == [0xB3, 0x26, 0x1E]
    assert colour_at(page, place_of(page, 5.2), y) == [0xF3, 0xF5, 0xF8]
    # ANN 8.5-9 taken for bob, 9.25-9.75 for cy: confusion; bob 8-8.5 too many: false
    # alarm; missed: CY 6-6.5, ANN 9-9.25. Of 2 + 1 + 2.5 + 2.75 = 8.25 s.
    der = (1.0 + 0.5 + 0.75) / 8.25
    assert f"{100 * der:.1f} %" in page.inner_text("#score")


def test_a_speaker_who_never_talks_for_a_second_is_marked(visit, pages):
    turns = [turn(0.0, 3.0, "ann"), turn(3.0, 3.9, "bob"), turn(5.0, 5.5, "bob")]
    report_page(turns).write(pages / "brief.html")
    page = visit("brief")
    marked = page.locator("#speakers .speaker", has_text="never talks for 1 s")
    assert marked.count() == 1
    assert marked.first.get_attribute("aria-label") == "bob"


def test_a_click_plays_the_sound_of_that_turn_and_stops_at_its_end(visit):
    page = visit("call")
    page.evaluate(
        """() => {
            const context = new AudioContext();
            const sound = document.getElementById("sound");
            const source = context.createMediaElementSource(sound);
            window.ears = context.createAnalyser();
            window.ears.fftSize = 8192;
            source.connect(window.ears);
            window.ears.connect(context.destination);
        }"""
    )
    click_turn(page, 3.5, "bob")
    page.wait_for_function("() => document.getElementById('sound').currentTime > 3.6")
    heard = page.evaluate(
        """() => {
            const bins = new Float32Array(window.ears.frequencyBinCount);
            window.ears.getFloatFrequencyData(bins);
            const best = bins.indexOf(Math.max(...bins));
            return best * window.ears.context.sampleRate / window.ears.fftSize;
        }"""
    )
    assert heard == pytest.approx(400 + 100 * 3, abs=30)  # the tone of second 3
    page.wait_for_function("() => document.getElementById('sound').paused")
    ended = page.evaluate("document.getElementById('sound').currentTime")
    assert 4.0 <= ended < 4.3


def test_audio_beside_the_page_plays(visit, pages):
    assert (pages / "beside-1.mp3").is_file()
    page = visit("beside")
    click_turn(page, 4.5, "cy")
    page.wait_for_function("() => document.getElementById('sound').currentTime > 4.05")
    assert page.evaluate("document.getElementById('sound').currentTime") < 6.0


def test_keys_choose_play_and_announce_turns(visit):
    page = visit("call")
    page.focus("#timeline")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    said = page.inner_text("#say")
    assert said == "Turn 2 of 6, bob, from 0:03.0 to 0:04.0"
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.getElementById('sound').currentTime > 3.05")
    page.keyboard.press("Escape")
    assert page.evaluate("document.getElementById('sound').paused")


def test_zoom_keeps_the_time_under_the_pointer(visit):
    page = visit("plain")
    box = page.locator("#timeline").bounding_box()
    x, y = place_of(page, 4.0), lane_of(page, "cy")
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -240)
    page.keyboard.up("Control")
    page.wait_for_function("() => document.getElementById('timeline').dataset.to < 9")
    start, end = view_of(page)
    assert end - start == pytest.approx(9.75 / np.e, rel=0.01)  # exp(-240 / 240)
    assert place_of(page, 4.0) == pytest.approx(x, abs=1.5)
    page.click("#zoom-all")
    assert view_of(page) == (0.0, 9.75)
    page.focus("#timeline")
    page.keyboard.press("-")
    assert view_of(page) == (0.0, 9.75)
    page.click("#zoom-in")
    assert np.diff(view_of(page)) == pytest.approx(9.75 / 2)


def test_what_is_not_changed_is_downloaded_as_it_came(visit):
    text, name = downloaded(visit("plain"))
    assert text == rttm_text(TURNS)
    assert name == "call.rttm"


def test_a_renamed_speaker_is_in_the_download(visit, tmp_path):
    page = visit("plain")
    name = page.get_by_label("Name of bob")
    name.fill("Bob  Smith <3")
    name.press("Enter")
    text, _ = downloaded(page)
    path = tmp_path / "got.rttm"
    path.write_text(text, encoding="utf-8")
    assert [one.speaker for one in read_rttm(path)] == [
        "ann", "Bob_Smith_<3", "cy", "ann", "Bob_Smith_<3", "cy",
    ]  # fmt: skip
    page.click("#undo")
    assert downloaded(page)[0] == rttm_text(TURNS)
    page.click("#redo")
    assert downloaded(page)[0] == text


def test_merged_speakers_do_not_overlap_themselves(visit):
    page = visit("plain")
    page.get_by_label("Merge bob into another speaker").select_option(label="ann")
    text, _ = downloaded(page)
    # ann 7-8.5 and bob 8-9 become one turn of 2 s.
    assert lines(text) == [
        ("0.500", "2.000", "ann"),
        ("3.000", "1.000", "ann"),
        ("4.000", "2.000", "cy"),
        ("7.000", "2.000", "ann"),
        ("9.250", "0.500", "cy"),
    ]
    assert page.locator("#lanes [data-lane]").count() == 2
    # A name that another has merges as well.
    name = page.get_by_label("Name of cy")
    name.fill("ann")
    name.press("Enter")
    assert {speaker for _, _, speaker in lines(downloaded(page)[0])} == {"ann"}


def test_turns_are_corrected_by_keys_and_fields(visit):
    page = visit("plain")
    click_turn(page, 3.5, "bob")
    page.focus("#timeline")
    page.keyboard.press("3")  # the third speaker, who goes on at once: they stay two
    assert lines(downloaded(page)[0])[1] == ("3.000", "1.000", "cy")
    page.locator("#turn-speaker").select_option("new")
    page.fill("#turn-end", "3.5")
    page.press("#turn-end", "Tab")
    assert lines(downloaded(page)[0])[1] == ("3.000", "0.500", "new-1")
    click_turn(page, 5.0, "cy")
    box = page.locator("#timeline").bounding_box()
    page.mouse.click(box["x"] + place_of(page, 5.0), box["y"] + 12)  # the playhead
    page.focus("#timeline")
    page.keyboard.press("s")
    found = lines(downloaded(page)[0])
    assert [float(found[i][1]) for i in (2, 3)] == pytest.approx([1.0, 1.0], abs=0.02)
    page.focus("#timeline")
    page.keyboard.press("Delete")
    assert len(lines(downloaded(page)[0])) == 6
    for _ in range(5):
        page.keyboard.press("Control+z")
    assert downloaded(page)[0] == rttm_text(TURNS)


def test_hostile_names_are_shown_and_do_nothing(visit):
    page = visit("hostile")
    assert page.inner_text("#title") == "<script>hacked=1</script>"
    shown = page.locator('#lanes [data-lane="found"] b').all_inner_texts()
    assert shown == HOSTILE
    values = page.locator("#speakers input").evaluate_all(
        "all => all.map(o => o.value)"
    )
    assert values == HOSTILE
    for key in ("ArrowRight", "e", "d", "?"):
        page.focus("#timeline")
        page.keyboard.press(key)
    page.get_by_label("Name of __proto__").fill("<b onclick=hacked=1>constructor")
    page.keyboard.press("Enter")
    page.hover("#timeline", position={"x": 30, "y": lane_of(page, HOSTILE[0])})
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.locator("img, svg, #title script").count() == 0
    assert [who for _, _, who in lines(downloaded(page)[0])][:3] == HOSTILE[:3]


def test_the_policy_stops_what_does_not_belong_to_the_page(browser, pages):
    page = browser.new_page()
    page.goto((pages / "plain.html").as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    found = page.evaluate(
        """async () => {
            const script = document.createElement("script");
            script.textContent = "window.hacked = 1";
            document.body.append(script);
            const image = new Image();
            const failed = new Promise(done => (image.onerror = () => done("stopped")));
            image.src = "http://127.0.0.1:9/x.png";
            const asked = await fetch("http://127.0.0.1:9/").then(
                () => "asked", () => "stopped");
            return [typeof window.hacked, await failed, asked];
        }"""
    )
    page.close()
    assert found == ["undefined", "stopped", "stopped"]


@pytest.mark.parametrize(("scheme", "name"), [("light", "words"), ("dark", "call")])
def test_a_phone_shows_it_all_in_either_theme(visit, scheme, name):
    small = {"width": 360, "height": 740}
    page = visit(name, viewport=small, color_scheme=scheme, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(244, 245, 247)", "dark": "rgb(16, 19, 23)"}[scheme]
    page.click("#theme")  # light by choice
    page.click("#theme")
    assert page.evaluate("document.documentElement.hasAttribute('data-dark')")


def test_thousands_of_small_turns_are_all_painted(browser, tmp_path):
    # Half a second each, every second, for half an hour: less than a pixel each.
    turns = [turn(1.0 * i, i + 0.5, f"spk{i % 2}") for i in range(1800)]
    path = tmp_path / "long.html"
    report_page(turns).write(path)
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    view_of(page)
    colours = [colour_at(page, x, lane_of(page, "spk0")) for x in (50, 400)]
    page.close()
    assert colours == [[0x00, 0x72, 0xB2]] * 2


def crowd(path, n_speakers):
    """Write a page of speakers with two turns each, one after the other."""
    names = [f"speaker{i:04d}" for i in range(n_speakers)] * 2
    turns = [turn(2.0 * i, 2.0 * i + 1.5, name) for i, name in enumerate(names)]
    report_page(turns, reference=turns).write(path)
    return path.as_uri()


def open_ready(context, address):
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("html[data-ready]", state="attached")
    view_of(page)
    return page


def test_a_page_grows_in_proportion_to_the_number_of_speakers(browser, tmp_path):
    sizes = []
    for n_speakers in (50, 100, 150):
        page = open_ready(browser, crowd(tmp_path / "crowd.html", n_speakers))
        for i in range(0, n_speakers, 5):
            page.locator("#speakers .speaker").nth(i).scroll_into_view_if_needed()
            view_of(page)
        sizes.append(
            page.evaluate(
                """() => [document.querySelectorAll("body *").length,
                    document.querySelector("main").outerHTML.length]"""
            )
        )
        page.close()
    first, second = np.diff(sizes, axis=0)
    # A menu of all names in every row adds 2 * 50 * 50 elements to the second step.
    assert second == pytest.approx(first, rel=0.05)


def test_a_menu_names_all_other_speakers_when_it_comes_into_view(browser, tmp_path):
    page = open_ready(browser, crowd(tmp_path / "crowd.html", 40))
    menu = page.get_by_label("Merge speaker0039 into another speaker")
    menu.scroll_into_view_if_needed()
    menu.select_option(label="speaker0007")
    assert page.get_by_label("Name of speaker0039").count() == 0
    names = [name for _, _, name in lines(downloaded(page)[0])]
    assert names.count("speaker0007") == 4
    page.close()


def test_lanes_of_hundreds_of_speakers_scroll_below_the_axis(browser, tmp_path):
    # Browsers limit the height of a canvas; these are 700 lanes on a fine screen.
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, device_scale_factor=3
    )
    page = open_ready(context, crowd(tmp_path / "crowd.html", 350))
    height = page.locator("#timeline").bounding_box()["height"]
    assert height < 844
    page.click("#turns tbody tr:nth-child(1)")
    for _ in range(8):
        page.click("#zoom-in")
    y = lane_of(page, "speaker0000")
    assert 0 < y < height
    assert colour_at(page, place_of(page, 0.75), y) == [0x00, 0x72, 0xB2]
    page.locator("#filter").select_option(label="speaker0315")
    page.click("#turns tbody tr:nth-child(2)")  # from 2 * (350 + 315) s
    y = lane_of(page, "speaker0315")
    assert 0 < y < height
    assert colour_at(page, place_of(page, 1330.75), y) == [0x00, 0x72, 0xB2]
    page.locator("#turn-speaker").select_option(label="speaker0001")
    assert 0 < lane_of(page, "speaker0001") < height
    page.click("#undo")
    y = lane_of(page, "speaker0315")
    assert 0 < y < height
    page.locator("#timeline").click(
        position={"x": place_of(page, 1328.75), "y": y - 16}
    )
    assert page.inner_text("#turn-name") == "Turn 665 of 700"
    context.close()


@pytest.mark.parametrize("hours", [0.01, 1, 24, 200])
def test_labels_of_the_time_axis_do_not_overlap(browser, tmp_path, hours):
    path = tmp_path / "long.html"
    report_page([turn(0.0, 3600.0 * hours, "ann")]).write(path)
    context = browser.new_context(viewport={"width": 320, "height": 740})
    context.add_init_script(
        """window.labels = [];
        const write = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            if (y < 20) window.labels.push([x, x + this.measureText(text).width]);
            return write.call(this, text, x, y);
        };"""
    )
    page = open_ready(context, path.as_uri())
    page.evaluate("window.labels.length = 0")
    page.click("#zoom-all")
    view_of(page)
    labels = page.evaluate("window.labels")
    context.close()
    assert len(labels) >= 2
    gaps = [later[0] - earlier[1] for earlier, later in pairwise(labels)]
    assert min(gaps) >= 4


@pytest.mark.parametrize("name", ["call", "words"])
def test_everything_that_can_be_used_has_a_name(visit, name):
    page = visit(name)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll(
            "button, select, input, canvas:not([aria-hidden])")]
            .filter(one => !(one.getAttribute("aria-label") || one.title
                || one.innerText || (one.labels && one.labels.length)))
            .map(one => one.outerHTML)"""
    )
    assert nameless == []


def paragraphs(page):
    """Speaker and text of each paragraph of the transcript."""
    return page.locator("#words .paragraph").evaluate_all(
        """all => all.map(one => [one.querySelector("button").textContent,
            one.querySelector("p").textContent])"""
    )


def word(page, text):
    return page.locator("#words p span", has_text=re.compile(f"^{re.escape(text)}$"))


def transcript(page, format):
    """The transcript that the page offers in a format."""
    page.locator("#words-format").select_option(format)
    with page.expect_download() as waiting:
        page.click("#words-download")
    return waiting.value.path().read_text(encoding="utf-8")


SAID = [
    ["ann", "Good morning, shall we"],
    ["bob", "yes, the morning"],
    ["cy", HEBREW],
    ["unknown", "[cough]"],
    ["ann", '=1 \u4f60\u597d, "the" end'],
]


def test_words_stand_in_paragraphs_with_doubts_and_guesses_marked(visit):
    page = visit("words")
    assert paragraphs(page) == SAID
    marked = page.locator("#words .unsure")
    assert marked.all_inner_texts() == ["yes,", "the", "morning"]
    assert marked.first.get_attribute("title") == "speaker confidence 25 %"
    assert page.locator("#words .guess").count() == 2
    stripes = page.locator("#words .stripe").evaluate_all(
        "all => all.map(one => getComputedStyle(one).backgroundColor)"
    )
    assert stripes[1] == "rgb(213, 94, 0)"  # bob, as in the timeline
    directions = page.locator("#words p").evaluate_all(
        "all => all.map(one => getComputedStyle(one).direction)"
    )
    assert directions == ["ltr", "ltr", "rtl", "ltr", "ltr"]


def test_a_click_plays_from_the_word_and_the_current_word_is_marked(visit):
    page = visit("words")
    word(page, "shall").click()  # 0.5 + 2 * 0.5 s
    page.wait_for_function("() => document.getElementById('sound').currentTime > 1.5")
    assert page.get_attribute("#sound", "data-from") == "1.5"
    page.locator("#words .now", has_text="we").wait_for()
    page.focus("#words")
    page.keyboard.press("Escape")
    assert page.evaluate("document.getElementById('sound').paused")
    assert page.locator("#words .picked").count() == 0


def test_without_audio_a_click_on_a_word_moves_the_playhead(visit, pages):
    report_page(TURNS, transcript=Transcript(PHRASES)).write(pages / "mute.html")
    page = visit("mute")
    word(page, "morning").click()
    page.locator("#words .now", has_text="morning").wait_for()
    assert page.inner_text("#clock") == "0:03.7"  # 3 + 2 / 3 s
    # The word is under the pointer; its text contrasts with the background.
    shown = page.locator("#words .now").evaluate(
        "one => [getComputedStyle(one).backgroundColor, getComputedStyle(one).color]"
    )
    accent = page.evaluate(
        """() => {
            const probe = document.body.appendChild(document.createElement("i"));
            probe.style.background = "var(--accent)";
            probe.style.color = "var(--on-accent)";
            const style = getComputedStyle(probe);
            return [style.backgroundColor, style.color];
        }"""
    )
    assert shown == accent


def test_search_counts_and_visits_words(visit):
    page = visit("words")
    page.fill("#find", "MORNING")
    assert page.inner_text("#find-count") == "1 of 2"
    assert page.locator("#words .hit").all_inner_texts() == ["morning,", "morning"]
    page.press("#find", "Enter")
    assert page.inner_text("#find-count") == "2 of 2"
    assert page.locator("#words .picked").inner_text() == "morning"
    page.press("#find", "Enter")
    assert page.inner_text("#find-count") == "1 of 2"
    page.press("#find", "Shift+Enter")
    assert page.inner_text("#find-count") == "2 of 2"
    page.fill("#find", "good  morning, sh")  # across words
    assert page.locator("#words .picked").all_inner_texts() == SAID[0][1].split()[:3]
    page.fill("#find", "\u4f60\u597d")  # words that no space divides
    assert page.inner_text("#find-count") == "1 of 1"
    page.fill("#find", "absent")
    assert page.inner_text("#find-count") == "no match"
    assert page.locator("#words .hit").count() == 0


def test_a_corrected_word_divides_its_paragraph_until_undone(visit, tmp_path):
    page = visit("words")
    word(page, "morning,").click()
    page.locator("#word-speaker").select_option(label="bob")
    assert paragraphs(page)[:4] == [
        ["ann", "Good"], ["bob", "morning,"], ["ann", "shall we"], SAID[1],
    ]  # fmt: skip
    # The phrase from 0.5 to 2.5 s is divided at its words, which last 0.5 s each.
    rows = json.loads(transcript(page, "seglst"))
    assert [
        (row["start_time"], row["end_time"], row["speaker"], row["words"])
        for row in rows[:3]
    ] == [
        (0.5, 1.0, "ann", "Good"),
        (1.0, 1.5, "bob", "morning,"),
        (1.5, 2.5, "ann", "shall we"),
    ]
    for name in ("srt", "vtt", "textgrid", "eaf", "stm", "ctm", "openai"):
        path = tmp_path / f"call.{name}"
        path.write_text(transcript(page, name), encoding="utf-8")
        said = [(part.speaker, part.text) for part in read_transcript(path)][:3]
        assert said == [("ann", "Good"), ("bob", "morning,"), ("ann", "shall we")]
    assert downloaded(page)[0] == rttm_text(TURNS)  # turns stay
    page.click("#undo")
    assert paragraphs(page) == SAID
    page.click("#redo")
    assert paragraphs(page)[1] == ["bob", "morning,"]


def test_words_are_corrected_by_keys(visit):
    page = visit("words")
    page.focus("#words")
    for key in ("ArrowRight", "ArrowRight", "Shift+ArrowRight", "3"):
        page.keyboard.press(key)
    assert paragraphs(page)[:3] == [
        ["ann", "Good"], ["cy", "morning, shall"], ["ann", "we"],
    ]  # fmt: skip
    page.keyboard.press("Control+z")
    page.keyboard.press("p")
    page.keyboard.press("0")
    assert paragraphs(page)[0] == ["unknown", SAID[0][1]]
    page.keyboard.press("d")  # the next doubtful word
    assert page.locator("#words .picked").inner_text() == "yes,"
    page.keyboard.press("ArrowDown")  # the Hebrew paragraph reads to the left
    page.keyboard.press("ArrowLeft")
    assert page.locator("#words .picked").inner_text() == SAID[2][1].split()[1]


def test_selected_words_are_corrected_together(visit):
    page = visit("words")
    first, last = (word(page, text).bounding_box() for text in ("morning,", "we"))
    page.mouse.move(first["x"] + 4, first["y"] + 9)
    page.mouse.down()
    page.mouse.move(last["x"] + last["width"] - 3, last["y"] + 9, steps=4)
    page.mouse.up()
    assert page.locator("#words .picked").count() == 3
    page.locator("#word-speaker").select_option("new")
    assert paragraphs(page)[:2] == [["ann", "Good"], ["new-1", "morning, shall we"]]
    assert page.get_by_label("Name of new-1").count() == 1
    page.locator("#words button", has_text="bob").click()
    assert page.locator("#words .picked").all_inner_texts() == SAID[1][1].split()
    page.keyboard.press("3")
    assert paragraphs(page)[2] == ["cy", f"{SAID[1][1]} {SAID[2][1]}"]


def test_words_follow_renamed_merged_and_corrected_turns(visit):
    page = visit("words")
    name = page.get_by_label("Name of bob")
    name.fill("Robert")
    name.press("Enter")
    assert paragraphs(page)[1][0] == "Robert"
    menu = page.get_by_label("Merge Robert into another speaker")
    menu.scroll_into_view_if_needed()
    menu.select_option(label="cy")
    assert paragraphs(page)[1] == ["cy", f"{SAID[1][1]} {SAID[2][1]}"]
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    assert paragraphs(page) == SAID
    click_turn(page, 8.3, "ann")
    page.locator("#turn-speaker").select_option(label="bob")
    speakers = [who for who, _ in paragraphs(page)]
    assert speakers == ["ann", "bob", "cy", "unknown", "bob"]


def talk(n_phrases):
    """Phrases of random words and pauses, with all that formats treat specially."""
    rng = np.random.default_rng(8)
    texts = ["well,", "yes.", "and", "-->", "<i>", "a&b", "*", "www.x", '"so"', "+1"]
    texts += ["\u4f60", "\U0001f600", "[ah]", "a-long-compound-of-words", "http://y"]
    phrases, now = [], 0
    for _ in range(n_phrases):
        words = []
        for i in range(rng.integers(1, 40)):
            now += int(rng.choice([0, 10, 400, 1500], p=[0.8, 0.1, 0.07, 0.03]))
            length = int(rng.choice([0, 80, 300, 900], p=[0.05, 0.3, 0.6, 0.05]))
            values = {"confidence": 0.5} if rng.random() < 0.5 else {}
            flags = {"is_joined": i > 0 and rng.random() < 0.1, **values}
            text = str(rng.choice(texts))
            words.append(Word(text, now / 1000, (now + length) / 1000, **flags))
            now += length
        speaker = rng.choice(["ann", "b_o*b", None], p=[0.5, 0.4, 0.1])
        times = words[0].start, words[-1].end
        phrases.append(Phrase("call", *times, speaker and str(speaker), tuple(words)))
        now += int(rng.choice([-900, 0, 200, 3500]))
        now = max(now, 0)
    return sorted(phrases, key=lambda part: part.start)


@pytest.mark.parametrize("name", WRITTEN_TRANSCRIPTS)
def test_an_uncorrected_transcript_is_downloaded_as_the_library_writes_it(
    visit, tmp_path, name
):
    texts = [transcript(visit("talk"), name), transcript_text(talk(60), name)]
    if name in ("textgrid", "eaf"):  # of which the page writes a short form
        path = tmp_path / f"call.{name}"
        contents = []
        for text in texts:
            path.write_text(text, encoding="utf-8")
            contents.append(read_transcript(path, name))
    elif TRANSCRIPT_FORMATS[name].suffix in (".json", ".jsonl"):
        # 1 and 1.0 are the same in JSON.
        is_lines = TRANSCRIPT_FORMATS[name].suffix == ".jsonl"
        rows = [text.splitlines() if is_lines else [text] for text in texts]
        contents = [[json.loads(row) for row in part] for part in rows]
    else:
        contents = texts
    assert contents[0] == contents[1]


def test_each_recording_has_its_words(visit, pages):
    other = replace(PHRASES[1], recording="other")
    turns = [*TURNS, turn(3.0, 4.0, "bob", "other"), turn(0.0, 1.0, "ann", "third")]
    said = Transcript((*PHRASES, other))
    report_page(turns, transcript=said).write(pages / "several.html")
    page = visit("several")
    word(page, "Good").click()
    page.locator("#word-speaker").select_option(label="cy")
    page.locator("#recording").select_option(label="other")
    assert paragraphs(page) == [SAID[1]]
    rows = json.loads(transcript(page, "seglst"))  # names recordings: has all
    assert [row["speaker"] for row in rows] == ["cy", *(who for who, _ in SAID), "bob"]
    assert transcript(page, "csv").count("\nother,") == 1
    page.locator("#recording").select_option(label="third")
    assert page.locator("#words-card").is_hidden()


def test_hostile_words_are_shown_and_do_nothing(visit, pages):
    texts = [text for text in HOSTILE if " " not in text] + ["\U0001f600"]
    words = tuple(Word(text, float(i), i + 1.0) for i, text in enumerate(texts))
    said = Transcript((Phrase("call", 0.0, 9.0, HOSTILE[0], words),))
    report_page(TURNS, transcript=said).write(pages / "hostile-words.html")
    page = visit("hostile-words")
    assert paragraphs(page) == [[HOSTILE[0], " ".join(texts)]]
    page.locator("#words p span").first.click()
    page.fill("#find", "<script>")
    page.locator("#word-speaker").select_option("new")
    assert json.loads(transcript(page, "seglst"))[-1]["words"].endswith("\U0001f600")
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.locator("main img, main svg, main script").count() == 0


def spoken(n_words):
    """Phrases of 11 words of three speakers, two words a second."""
    phrases = [
        phrase(5.5 * i, 5.5 * i + 5.5, "abc"[i % 3], "one two " * 5 + f"word{i}")
        for i in range(-(-n_words // 11))
    ]
    turns = [turn(part.start, part.end, part.speaker) for part in phrases]
    return turns, Transcript(tuple(phrases))


def is_in_sight(page, kind):
    """Whether a word is inside the box of the transcript."""
    page.locator(f"#words {kind}").wait_for(state="attached")
    for _ in range(5):
        view_of(page)  # the height of what comes into view is known a frame later
    return page.locator(f"#words {kind}").evaluate(
        """(one) => {
            const [box, word] = [document.getElementById("words"), one].map(
                (part) => part.getBoundingClientRect());
            return word.top >= box.top && word.bottom <= box.bottom;
        }"""
    )


def test_the_text_follows_the_audio_until_the_user_scrolls(visit, pages):
    turns, said = spoken(150)
    silence = np.zeros(8000 * 80), 8000
    report_page(turns, audio=silence, transcript=said).write(pages / "follow.html")
    page = visit("follow", viewport={"width": 900, "height": 360})
    jump = "time => (document.getElementById('sound').currentTime = time)"
    word(page, "word0").click()
    page.evaluate(jump, 70.0)
    page.locator("#words .block:last-child .now").wait_for()
    assert is_in_sight(page, ".now")
    page.hover("#words")
    page.mouse.wheel(0, -50)
    page.wait_for_selector("#follow[aria-pressed=false]")
    page.evaluate(jump, 1.0)
    page.locator("#words .block:first-child .paragraph:first-child .now").wait_for()
    assert not is_in_sight(page, ".now")
    page.click("#follow")
    assert is_in_sight(page, ".now")
    page.hover("#words")
    page.mouse.wheel(0, 250)
    page.wait_for_selector("#follow[aria-pressed=false]")
    assert not is_in_sight(page, ".now")
    top = "() => document.getElementById('words').scrollTop"
    before = page.evaluate(top)
    word(page, "word10").click()  # the text stays under the pointer
    page.locator("#words .now", has_text="word10").wait_for()
    assert is_in_sight(page, ".now")
    assert page.evaluate(top) == before > 0


def test_words_far_down_a_long_transcript_are_found_and_corrected(browser, tmp_path):
    turns, said = spoken(3000)
    path = tmp_path / "long.html"
    report_page(turns, transcript=said).write(path)
    page = open_ready(browser, path.as_uri())
    page.fill("#find", "word250")
    assert is_in_sight(page, ".picked")
    page.locator("#word-speaker").select_option(label="a")
    assert is_in_sight(page, ".picked")
    # Of 273 phrases one is divided; what is far away is not made again.
    assert paragraphs(page)[250:253] == [
        ["b", "one two " * 4 + "one two"], ["a", "word250"],
        ["c", "one two " * 5 + "word251"],
    ]  # fmt: skip
    page.close()


@pytest.mark.soak
def test_thirty_thousand_words_scroll_smoothly(browser, tmp_path):
    turns, said = spoken(30_000)
    path = tmp_path / "long.html"
    report_page(turns, transcript=said).write(path)
    assert path.stat().st_size < 12_000_000
    page = open_ready(browser, path.as_uri())
    page.locator("#words").scroll_into_view_if_needed()
    browser.start_tracing(page=page, categories=["toplevel"])
    page.evaluate(
        """async () => {
            const box = document.getElementById("words");
            for (let i = 0; i < 300; i++) {
                box.scrollTop += 200;
                await new Promise(requestAnimationFrame);
            }
        }"""
    )
    events = json.loads(browser.stop_tracing())["traceEvents"]
    page.close()
    # Processor time of the tasks in ms: other programs do not count.
    tasks = [event["tdur"] / 1000 for event in events if "tdur" in event]
    assert len(tasks) > 300
    assert max(tasks) < 50
