"""A toy run of the recipe: synthetic voices, the embedded model, two short calls."""

import json
import shutil

import pytest
import soundfile

from sms_diar._random import named_generator
from sms_diar.errors import ConfigError, MissingFileError
from sms_diar.experiment.recipe import find_recipe, run_recipe
from sms_diar.io.turns.rttm import read_rttm, write_rttm
from sms_diar.io.turns.uem import read_uem
from sms_diar.synthetic.voices import Voice, converse
from sms_diar.types import Segment, Turn

RATE = 8000
SECONDS = 16.0
LOW, HIGH = Voice(95.0, 0.85, 0.9), Voice(200.0, 1.2, 0.6)
ORACLES = ("count", "speech", "labels")
STAGES = (
    "prepare",
    "diarize",
    *(f"oracle-{one}" for one in ORACLES),
    "score",
    "report",
)
EMBEDDED = ("model=embedded", f"oracles={list(ORACLES)}", "figures=false")


def turns_of(name):
    """Two speakers by turns, 3.4 s each."""
    return [
        Turn(Segment(name, 4.0 * i + 0.3, 4.0 * i + 3.7), ("ann", "bob")[i % 2])
        for i in range(4)
    ]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("talks")
    for name in ("one", "two"):
        spoken = [
            (turn.segment, LOW if turn.speaker == "ann" else HIGH)
            for turn in turns_of(name)
        ]
        samples = converse(spoken, SECONDS, named_generator(3, name), rate=RATE)
        soundfile.write(folder / f"{name}.wav", samples, RATE)
        write_rttm(folder / f"{name}.rttm", turns_of(name))
    (folder / "all.uem").write_text("one 1 0 16\ntwo 1 0 8\n")
    return folder


def run(root, folder, *assignments, **options):
    recipe = find_recipe(str(root / "recipes" / "conversations"))
    return run_recipe(recipe, folder, assignments=assignments, **options)


@pytest.fixture(scope="module")
def outcome(pytestconfig, corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("conversations") / "exp"
    return run(pytestconfig.rootpath, folder, f"data={corpus}", *EMBEDDED)


def test_every_system_is_scored_on_every_recording(outcome):
    assert outcome.ran == STAGES
    systems = outcome.results["systems"]
    assert list(systems) == ["found", *ORACLES]
    for scores in systems.values():
        assert set(scores["recordings"]) == {"one", "two"}
        assert 0.0 <= scores["overall"]["der"] < 1.0
    known = systems["count"]["recordings"]
    # Of "two" half is scored, but all of it is diarized.
    assert {name: one["n_hyp"] for name, one in known.items()} == {"one": 2, "two": 2}


def test_an_oracle_of_speech_neither_misses_nor_makes_up_speech(outcome):
    overall = outcome.results["systems"]["speech"]["overall"]
    assert overall["missed"] == pytest.approx(0.0, abs=0.05)
    assert overall["false_alarm"] == pytest.approx(0.0, abs=0.05)


def test_an_oracle_of_labels_leaves_the_errors_of_the_detector(outcome):
    """Both speak by turns, so with the right names nobody is taken for another."""
    systems = outcome.results["systems"]
    told, found = systems["labels"]["overall"], systems["found"]["overall"]
    assert told["confusion"] == pytest.approx(0.0, abs=0.05)
    assert told["missed"] == pytest.approx(found["missed"], abs=0.05)
    assert told["false_alarm"] == pytest.approx(found["false_alarm"], abs=0.05)


def test_regions_limit_what_is_scored(outcome):
    # Turns of 3.4 s less the collar of 0.25 s at both ends: four of one, two of two.
    figures = outcome.results["systems"]["found"]["recordings"]
    assert figures["one"]["scored"] == pytest.approx(4 * 2.9)
    assert figures["two"]["scored"] == pytest.approx(2 * 2.9)


def test_a_data_directory_is_left_for_other_tools(outcome, corpus):
    folder = outcome.folder / "prepare"
    lines = (folder / "wav.scp").read_text().splitlines()
    assert lines == [f"one {corpus / 'one.wav'}", f"two {corpus / 'two.wav'}"]
    assert list(read_rttm(folder / "ref.rttm")) == [*turns_of("one"), *turns_of("two")]
    assert read_uem(folder / "all.uem").recordings == ("one", "two")


def test_the_report_names_rules_systems_and_recordings(outcome):
    text = (outcome.folder / "report" / "report.md").read_text()
    assert "collar 0.25 s on each side of a reference boundary" in text
    assert "(the rules that are customary for layout folder)" in text
    assert "model embedded, method sms" in text
    assert "| oracle: the number of speakers is known |" in text
    assert "\n| two | 2 |" in text
    assert "der.png" not in text
    head, *rows = (outcome.folder / "report" / "table.csv").read_text().splitlines()
    assert head == (
        "given,recording,speakers,found,scored s,missed %,false alarm %,confusion %,"
        "DER %,JER %"
    )
    assert [row.split(",")[:2] for row in rows] == [
        [system, name]
        for system in ("found", *ORACLES)
        for name in ("one", "two", "all")
    ]


def test_only_what_depends_on_a_change_runs_again(root, outcome, corpus, tmp_path):
    folder = tmp_path / "exp"
    shutil.copytree(outcome.folder, folder)
    same = (f"data={corpus}", *EMBEDDED)
    assert run(root, folder, *same).ran == ()
    again = run(root, folder, *same, "collar=0.0", "overlap=ignored")
    assert again.ran == ("score", "report")
    assert again.results["applied"]["collar"] == 0.0
    summary = again.summary.replace("\n", " ")
    assert "no collar" in summary
    assert (
        "not the rules that are customary for layout folder: collar 0.0 (usually "
        "0.25), overlap ignored (usually scored)" in summary
    )
    fewer = run(root, folder, *same, "oracles=[]", "collar=0.0", "overlap=ignored")
    assert fewer.ran == ("score", "report")
    assert list(fewer.results["systems"]) == ["found"]


def test_a_broken_recording_is_named_and_counts_as_missed(root, corpus, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(corpus, data)
    (data / "two.wav").write_bytes(b"")
    outcome = run(
        root, tmp_path / "exp", f"data={data}", *EMBEDDED, "oracles=[]", "uem=ignored"
    )
    two = outcome.results["systems"]["found"]["recordings"]["two"]
    assert two["missed"] == pytest.approx(two["scored"])
    assert two["scored"] == pytest.approx(4 * 2.9)
    problem = f"two: {data / 'two.wav'}: is empty (0 bytes)"
    assert outcome.results["problems"] == [problem, problem]


def test_a_reference_that_outlasts_its_audio_is_noted(root, corpus, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(corpus, data)
    samples, _ = soundfile.read(data / "one.wav")
    soundfile.write(data / "one.wav", samples[: 10 * RATE], RATE)
    outcome = run(
        root, tmp_path / "exp", f"data={data}", *EMBEDDED, "oracles=[]", "only=['one']"
    )
    assert outcome.results["problems"] == [
        "one: the reference ends at 15.7 s, but the recording at 10.0 s"
    ]


def test_a_corpus_of_the_field_is_scored_by_its_own_rules(root, corpus, tmp_path):
    data = tmp_path / "dihard" / "data"
    for folder in ("flac", "rttm", "uem"):
        (data / folder).mkdir(parents=True)
    samples, _ = soundfile.read(corpus / "one.wav")
    soundfile.write(data / "flac" / "one.flac", samples, RATE)
    shutil.copy(corpus / "one.rttm", data / "rttm")
    (data / "uem" / "one.uem").write_text("one 1 0 12\n")
    place = f"data={data.parent}"
    outcome = run(
        root, tmp_path / "exp", "layout=dihard", place, *EMBEDDED, "oracles=[]"
    )
    assert outcome.results["applied"] == {
        "collar": 0.0,
        "overlap": "scored",
        "uem": "used",
    }
    overall = outcome.results["systems"]["found"]["overall"]
    assert overall["scored"] == pytest.approx(3 * 3.4)


def test_a_picture_shows_the_parts_of_each_recording(root, outcome, corpus, tmp_path):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "exp"
    shutil.copytree(outcome.folder, folder)
    drawn = run(root, folder, f"data={corpus}", *EMBEDDED, "figures=true")
    assert drawn.ran == ("report",)
    assert (folder / "report" / "der.png").stat().st_size > 1000
    assert "![Parts of DER](der.png)" in (folder / "report" / "report.md").read_text()


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        (
            ("layout=timit",),
            "'layout' must be one of folder, ami, voxconverse, dihard, callhome, "
            "msdwild, simulated, got 'timit'",
        ),
        (
            ("layout=ami",),
            "'data' must be given with layout 'ami', got an empty text",
        ),
        (
            ("layout=ami", "data=d", "microphone=Lapel-0"),
            "'microphone' must be one of Mix-Headset, Array1-01, got 'Lapel-0'",
        ),
        (
            ("layout=voxconverse", "data=d", "split=train"),
            "'split' must be one of test, dev with layout 'voxconverse', got 'train'",
        ),
        (("overlap=no",), "'overlap' must be one of scored, ignored, got 'no'"),
        (("uem=no",), "'uem' must be one of used, ignored, got 'no'"),
        (
            ('oracles=["names"]',),
            "'oracles' must be one of count, speech, labels, got 'names'",
        ),
        (
            ('beside=["xvectors"]',),
            "'beside' must be one of embedded, neural, got 'xvectors'",
        ),
        (
            ("layout=simulated", "data=x"),
            "'data' must be empty with layout 'simulated', got 'x'; "
            "'meetings.sources' names what meetings are made of",
        ),
        (("meetings.speakers=[]",), "'meetings.speakers' must not be empty"),
        (
            ("meetings.vad=loud",),
            "'meetings.vad' must be one of energy, neural, none, got 'loud'",
        ),
        (
            ("model=neural", 'oracles=["speech"]'),
            "'oracles' must not have 'speech' with neural networks, which find speech "
            "and voices in one go; --set model=embedded has it",
        ),
    ],
)
def test_wrong_settings_are_named(root, tmp_path, assignments, message):
    with pytest.raises(ConfigError) as caught:
        run(root, tmp_path / "exp", *assignments)
    assert str(caught.value) == message


def test_an_interrupted_run_goes_on_with_what_is_missing(
    root, outcome, corpus, tmp_path
):
    folder = tmp_path / "exp"
    shutil.copytree(outcome.folder, folder)
    journal = folder / "diarize" / "journal.jsonl"
    head, first, second = journal.read_text().splitlines()
    # A result that is marked shows that it was kept and not computed again.
    kept = json.loads(first)
    kept["result"]["notes"] = ["kept"]
    journal.write_text(f"{head}\n{json.dumps(kept)}\n{second[:20]}")
    (folder / "diarize" / "stage.json").unlink()
    again = run(root, folder, f"data={corpus}", *EMBEDDED)
    assert again.ran == ("diarize", "score", "report")
    assert "kept" in again.results["notes"]
    assert again.results["systems"] == outcome.results["systems"]


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    """A data directory of two people who read for 12 s each."""
    folder = tmp_path_factory.mktemp("readers") / "toy"
    folder.mkdir()
    tables = {name: [] for name in ("wav.scp", "utt2spk")}
    for name, voice in (("ann", LOW), ("bob", HIGH)):
        spoken = [(Segment(name, 0.0, 12.0), voice)]
        samples = converse(spoken, 12.0, named_generator(5, name), rate=RATE)
        soundfile.write(folder / f"{name}.wav", samples, RATE)
        tables["wav.scp"].append(f"{name} {name}.wav\n")
        tables["utt2spk"].append(f"{name} {name}\n")
    for name, lines in tables.items():
        (folder / name).write_text("".join(lines))
    return folder


def test_meetings_of_any_data_directory_are_made_and_scored(root, readers, tmp_path):
    toy = (
        "layout=simulated",
        "model=embedded",
        'oracles=["labels"]',
        "figures=false",
        f'meetings.sources=["{readers}"]',
        "meetings.speakers=[2]",
        "meetings.overlap=[0.0, 0.25]",
        "meetings.seconds=15",
        "meetings.vad=none",
    )
    folder = tmp_path / "exp"
    outcome = run(root, folder, *toy)
    assert outcome.ran[:2] == ("simulate", "prepare")
    names = ["toy-2-00-0000", "toy-2-25-0000"]
    figures = outcome.results["systems"]["found"]["recordings"]
    assert sorted(figures) == names
    assert [one["n_ref"] for one in figures.values()] == [2, 2]
    cells = [f"{100.0 * figures[name]['der']:.1f}" for name in names]
    text = (folder / "report" / "report.md").read_text()
    assert "| source | speakers | 0% overlap | 25% overlap |" in text
    assert f"| toy | 2 | {cells[0]} | {cells[1]} |" in text
    assert run(root, folder, *toy).ran == ()
    assert run(root, folder, *toy, "collar=0.0").ran == ("score", "report")
    again = run(root, folder, *toy, "meetings.snr=10.0")
    assert again.ran[:2] == ("simulate", "prepare")


def test_sources_of_meetings_that_are_not_there_are_named(root, tmp_path):
    with pytest.raises(MissingFileError) as caught:
        run(
            root,
            tmp_path / "exp",
            "layout=simulated",
            "model=embedded",
            f'meetings.sources=["{tmp_path}"]',
        )
    assert str(caught.value) == (
        f"{tmp_path}: no data directory with utt2spk; 'meetings.sources' names "
        f"directories, or folders below that of the corpora"
    )


@pytest.mark.corpus
def test_networks_reach_their_figure_on_clips_of_meetings(
    root, corpus_data, stored_network, tmp_path
):
    for name in ("campplus", "segmentation"):
        stored_network(name)
    data = corpus_data / "conversations"
    outcome = run(
        root,
        tmp_path / "exp",
        f"data={data}",
        "model=neural",
        "oracles=[]",
        "figures=false",
        'only=["dev00", "trn03", "trn06"]',
    )
    # 9.7, 0.0 and 5.8 % when this was written.
    assert outcome.results["systems"]["found"]["overall"]["der"] < 0.08
    assert outcome.results["seconds"] == pytest.approx(90.0, abs=1.0)
