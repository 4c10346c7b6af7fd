"""Commands overwrite neither their inputs nor their other outputs."""

import os
import shlex
from pathlib import Path

import pytest
import typer

from sms_diar.cli.main import app
from sms_diar.io.embeddings.files import embedding_files

FILES = shlex.split(
    "call.wav other.wav voice.wav calls/a.wav calls/b.flac sound/c.wav "
    "r.rttm h.rttm turns/a.rttm all.uem data/segments data/utt2spk front.toml "
    "x.ark x.ark.json s.ark x.npy x.ids segments utt2rec labels trials "
    "model.npz x.onnx p.plda t.npz kaldi/final.ie kaldi/mean.vec kaldi/conf/mfcc.conf"
)
TABLES = {
    "data/wav.scp": "c sound/c.wav\nd sph2pipe -f wav sound/d.sph |\n",
    "sound/d.sph": "junk",
    "x.scp": "a s.ark:2\n",
    "net.toml": 'file = "x.onnx"\n',
    "turns.lst": "turns/a.rttm\n",
    "spaced.scp": "a my call.wav\n",
    "my call.wav": "junk",
}

# Commands with their input files; OUT is the output.
COMMANDS = [
    ("diarize call.wav --rttm OUT", "call.wav"),
    ("diarize call.wav -o OUT --format rttm", "call.wav"),
    ("diarize call.wav --html OUT", "call.wav"),
    ("diarize call.wav --html x.html --ref r.rttm --rttm OUT", "r.rttm"),
    ("diarize call.wav --uem all.uem --rttm OUT", "all.uem"),
    ("diarize call.wav --enrol ann=voice.wav --rttm OUT", "voice.wav"),
    ("diarize call.wav --model model.npz --rttm OUT", "model.npz"),
    ("diarize call.wav --model net.toml --rttm OUT", "net.toml x.onnx"),
    ("diarize calls --rttm OUT", "calls/a.wav calls/b.flac"),
    ("diarize data --rttm OUT", "data/wav.scp sound/c.wav sound/d.sph"),
    ("diarize data/wav.scp --rttm OUT", "data/wav.scp sound/c.wav"),
    ("diarize spaced.scp --rttm OUT", "my\\ call.wav"),
    ("cluster x.ark --segments segments --rttm OUT", "x.ark segments x.ark.json"),
    ("cluster x.scp -o OUT", "x.scp s.ark"),
    ("cluster x.npy -o OUT", "x.ids"),
    ("cluster x.ark --plda p.plda --transform t.npz -o OUT", "p.plda t.npz"),
    ("cluster x.ark --across --utt2rec utt2rec -o OUT", "utt2rec"),
    ("score r.rttm h.rttm --uem all.uem --errors OUT", "r.rttm h.rttm all.uem"),
    ("score turns turns.lst --errors OUT", "turns/a.rttm turns.lst"),
    ("score -r 'turns/*.rttm' -s h.rttm --errors OUT", "turns/a.rttm h.rttm"),
    ("report r.rttm --uem all.uem -o OUT", "r.rttm all.uem"),
    ("report turns --ref h.rttm --audio call.wav -o OUT", "turns/a.rttm h.rttm"),
    ("report turns.lst --audio call.wav -o OUT", "call.wav turns.lst turns/a.rttm"),
    ("report turns --audio calls -o OUT", "calls/a.wav"),
    ("features data --config front.toml -o OUT", "data/segments front.toml"),
    ("features data -o OUT", "sound/c.wav"),
    ("features data -o x.out --scp OUT", "data/wav.scp"),
    ("ivectors train data --config front.toml -o OUT", "data/utt2spk front.toml"),
    ("ivectors extract data --model t.npz -o OUT", "t.npz"),
    ("ivectors extract data -o y.ark --windows OUT", "data/segments sound/c.wav"),
    ("ivectors extract data --kaldi d --ubm t.npz -o OUT", "t.npz"),
    ("ivectors extract data --kaldi kaldi -o y.ark --windows OUT", "kaldi/final.ie"),
    ("ivectors extract data --kaldi kaldi -o y.ark --windows OUT",
     "kaldi/conf/mfcc.conf"),
    ("cluster x.ark --transform kaldi --plda p.plda -o OUT", "kaldi/mean.vec"),
    ("ivectors extract data --kaldi d --ubm labels -o y.ark --windows OUT", "labels"),
    ("embed data --kaldi kaldi --nnet t.npz -o OUT", "t.npz"),
    ("plda train x.ark labels -o OUT", "x.ark labels"),
    ("transcript r.rttm labels -o OUT", "r.rttm labels"),
    ("convert r.rttm OUT --split call.wav parts", "r.rttm call.wav"),
    ("plda train x.ark labels --raw -o x.out --kaldi-plda OUT", "x.ark labels"),
    ("plda adapt p.plda x.ark --transform t.npz -o OUT", "p.plda x.ark t.npz"),
    (
        "plda score p.plda x.ark s.ark --trials trials --average labels -o OUT",
        "p.plda x.ark s.ark trials labels",
    ),
    ("plda eval trials labels segments --det OUT", "trials labels segments"),
    ("plda calibrate trials labels -o OUT", "trials labels"),
    ("plda apply front.toml labels segments -o OUT", "front.toml labels segments"),
]  # fmt: skip
WRITE_NO_NAMED_FILE = {
    *("recipes", "run", "simulate", "validate-data", "validate-rttm"),
    *("ivectors export", "ivectors info", "plda info"),
    *("models add", "models fetch", "models remove"),
}
CASES = [(command, out) for command, outs in COMMANDS for out in shlex.split(outs)]


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    """Make placeholder inputs, none of which is valid, for all commands."""
    monkeypatch.chdir(tmp_path)
    for name in (*FILES, *TABLES):
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TABLES.get(name, f"junk of {name}"), encoding="utf-8")
    return tmp_path


def names_of(command, before=()):
    """List names of commands, with the name of the group as prefix."""
    for name, inside in getattr(command, "commands", {}).items():
        if hasattr(inside, "commands"):
            yield from names_of(inside, (*before, name))
        else:
            yield " ".join((*before, name))


def test_all_commands_that_write_files_are_in_the_table():
    listed = {
        name
        for name in names_of(typer.main.get_command(app))
        if any(command.startswith(f"{name} ") for command, _ in COMMANDS)
    }
    everything = set(names_of(typer.main.get_command(app)))
    assert everything == listed | WRITE_NO_NAMED_FILE


def contents(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def words(command, out):
    return [str(out) if word == "OUT" else word for word in shlex.split(command)]


@pytest.mark.parametrize(("command", "out"), CASES)
def test_an_output_that_is_an_input_is_refused_before_any_work(
    inputs, run_cli, command, out
):
    before = contents(inputs)
    result = run_cli(*words(command, out))
    assert result.returncode == 1
    assert result.stderr.startswith(f"sms-diar: {out}: is read as an input (")
    assert result.stdout == ""
    assert contents(inputs) == before


@pytest.mark.parametrize("kind", ["symbolic", "hard", "dots", "absolute"])
def test_another_name_of_an_input_is_recognised(inputs, run_cli, kind):
    alias = {"dots": "calls/../call.wav", "absolute": str(inputs / "call.wav")}.get(
        kind, "alias"
    )
    if kind == "symbolic":
        Path(alias).symlink_to("call.wav")
    elif kind == "hard":
        os.link("call.wav", alias)
    before = contents(inputs)
    result = run_cli("diarize", "call.wav", "--rttm", alias)
    assert result.returncode == 1
    assert f"{alias}: is read as an input (call.wav)" in result.stderr
    assert contents(inputs) == before


@pytest.mark.parametrize(
    ("command", "second"),
    [
        ("diarize call.wav --rttm new.rttm --html OUT", "./new.rttm"),
        ("diarize call.wav --rttm new.rttm -o OUT", "calls/../new.rttm"),
        ("diarize call.wav -o new.json -o OUT", "new.json"),
        ("diarize call.wav --rttm new --split OUT", "new"),
        ("diarize call.wav --rttm calls/call.rttm -o OUT", "calls"),
        ("diarize call.wav -o calls -o OUT", "calls/call.rttm"),
        ("diarize call.wav -o calls -o OUT", "data/../calls"),
        ("cluster x.ark --segments segments --rttm new -o OUT", "./new"),
        ("features data -o new --scp OUT", "./new"),
        ("plda train x.ark labels --raw -o new --kaldi-plda OUT", "./new"),
    ],
)
@pytest.mark.parametrize("exists", [False, True])
def test_two_outputs_are_two_files(inputs, run_cli, command, second, exists):
    if exists and "--split" not in command and not Path(second).is_dir():
        Path(second).write_text("old")
    before = contents(inputs)
    result = run_cli(*words(command, second))
    assert result.returncode == 1
    assert "is the same file as another output (" in result.stderr
    assert contents(inputs) == before


def test_the_files_beside_an_output_are_not_inputs_either(inputs, run_cli):
    before = contents(inputs)
    result = run_cli("ivectors", "extract", "data", "-o", "data/wav.ark")
    assert result.returncode == 1
    assert "data/wav.scp: is read as an input (data/wav.scp)" in result.stderr
    assert contents(inputs) == before
    names = [path.name for path in embedding_files("wav.ark")]
    assert names == ["wav.ark", "wav.scp", "wav.ark.json", "wav.scp.json"]


def test_the_folder_of_the_recordings_is_not_filled_with_voices(inputs, run_cli):
    before = contents(inputs)
    result = run_cli("diarize", "calls", "--split", "data/../calls")
    assert result.returncode == 2
    assert "is the folder of the input recordings" in " ".join(
        result.stderr.replace("│", " ").split()
    )
    assert contents(inputs) == before


def test_a_file_that_would_go_into_a_folder_is_not_an_input(inputs, run_cli):
    Path("turns/call.rttm").write_text("SPEAKER call 1 0 1 <NA> <NA> a <NA> <NA>\n")
    before = contents(inputs)
    result = run_cli(
        *("diarize", "call.wav", "--html", "new.html"),
        *("--ref", "turns/call.rttm", "-o", "turns"),
    )
    assert result.returncode == 1
    assert "turns/call.rttm: is read as an input" in result.stderr
    assert contents(inputs) == before


@pytest.mark.parametrize(
    "command", ["validate-data data --fix data", "simulate data -o data --speakers 1"]
)
def test_a_folder_that_is_read_is_not_filled(inputs, run_cli, command):
    before = contents(inputs)
    assert run_cli(*shlex.split(command)).returncode == 1
    assert contents(inputs) == before


def test_an_earlier_result_among_the_inputs_is_replaced(inputs, run_cli):
    """Results may be written to the folder of the recordings, also twice."""
    Path("calls/out.rttm").write_text("old")
    result = run_cli("diarize", "calls", "--rttm", "calls/out.rttm")
    assert "is read as an input" not in result.stderr
    assert "calls/a.wav: cannot be read as audio" in result.stderr


def test_protection_ends_with_the_command(inputs, run_cli):
    assert run_cli("diarize", "call.wav", "--rttm", "call.wav").returncode == 1
    result = run_cli("diarize", "other.wav", "--rttm", "call.wav")
    assert "is read as an input" not in result.stderr
    assert "other.wav: cannot be read as audio" in result.stderr
