"""``sms-diar score`` and ``sms-diar validate-rttm``."""

import csv
import gzip
import inspect
import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sms_diar.cli.commands import score
from sms_diar.cli.main import app
from sms_diar.io.turns.files import write_turns
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.pipeline.score.api import score as python_score
from sms_diar.pipeline.score.api import score_systems, score_words

runner = CliRunner()

LINE = "SPEAKER {} 1 {} {} <NA> <NA> {} <NA> <NA>\n"


def rttm(path, *rows):
    path.write_text("".join(LINE.format(*row) for row in rows))
    return str(path)


@pytest.fixture
def files(tmp_path):
    """r: A 0-6, B 6-10, output as one speaker; q: 0-10, output to 8, 10-12 false."""
    ref = rttm(
        tmp_path / "ref.rttm", ("r", 0, 6, "A"), ("r", 6, 4, "B"), ("q", 0, 10, "C")
    )
    hyp = rttm(
        tmp_path / "hyp.rttm", ("r", 0, 10, "x"), ("q", 0, 8, "y"), ("q", 10, 2, "y")
    )
    return ref, hyp


def run(*args):
    return runner.invoke(app, ["score", *args])


def test_json_has_settings_recordings_and_overall(files):
    result = run(*files, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    # r: 4 s of confusion; q: 2 s missed, 2 s false
    assert report["overall"]["scored"] == 20.0
    assert report["overall"]["confusion"] == 4.0
    assert report["overall"]["missed"] == 2.0
    assert report["overall"]["false_alarm"] == 2.0
    assert report["overall"]["der"] == 0.4
    assert report["recordings"]["r"]["der"] == 0.4
    assert report["recordings"]["r"]["mapping"] == {"x": "A"}
    assert set(report["overall"]) <= set(report["recordings"]["r"])
    assert report["settings"]["convention"] == "sms-diar"
    assert report["settings"]["collar"] == 0.0
    assert report["speaker_counts"]["mean_absolute_error"] == 0.5


def test_all_rules_in_force_are_explained(files):
    rules = ("--convention", "nist", "--collar", "0.25")
    short = run(*files, *rules).stdout
    assert short.endswith(
        "\nnist rules (--explain): collar 0.25 s per side, overlap scored, reference "
        "extent\n"
    )
    text = run(*files, *rules, "--explain").stdout
    assert "- convention nist\n" in text
    assert "collar 0.25 s on each side of a reference boundary (0.5 s in all)" in text
    command = f"md-eval: md-eval-22.pl -a f -c 0.25 -r {files[0]} -s {files[1]}\n"
    assert command in text.replace(" \\\n    ", " ")  # as a shell joins lines
    wide = run(*files, *rules, "--explain", "--wide").stdout
    assert command in wide
    # r: 5.5 + 3.5 s, 3.5 wrong; q 9.5 s, 8-9.75 missed: 5.25 / 18.5
    pooled = next(line for line in text.splitlines() if line.startswith("POOLED"))
    assert pooled.split()[1] == "28.38"


def test_errors_are_written_as_rttm(files, tmp_path):
    path = tmp_path / "errors.rttm"
    assert run(*files, "--errors", str(path)).exit_code == 0
    turns = [
        (turn.segment.recording, turn.segment.start, turn.segment.end, turn.speaker)
        for turn in read_rttm(path)
    ]
    assert turns == [
        ("q", 8.0, 10.0, "missed:C"),
        ("q", 10.0, 12.0, "false_alarm:y"),
        ("r", 6.0, 10.0, "confusion:B>x"),
    ]


def test_two_systems_are_compared(files, tmp_path):
    ref, hyp = files
    result = run(ref, hyp, ref, "--json", "--bootstrap", "100")
    report = json.loads(result.stdout)
    assert list(report["systems"]) == ["hyp", "ref"]
    (found,) = report["comparisons"]
    assert (found["system"], found["with"]) == ("ref", "hyp")
    assert found["difference"]["estimate"] == -0.4
    assert found["p_value"] == 0.5  # two recordings: ++ and -- of four
    text = run(ref, hyp, ref, "--bootstrap", "100").stdout
    assert "diff.: DER less the DER of hyp, 95 % interval" in text
    assert "POOLED" not in text
    assert run(ref, hyp, ref, "--details").stdout.count("\nPOOLED") == 2


@pytest.mark.parametrize("n_systems", [1, 2])
def test_results_are_written_in_the_form_of_the_suffix(files, tmp_path, n_systems):
    systems = [files[1], files[0]][:n_systems]
    suffixes = (".csv", ".json", ".tex", ".md", ".txt")
    paths = [tmp_path / f"result{suffix}" for suffix in suffixes]
    words = [word for path in paths for word in ("-o", str(path))]
    printed = run(files[0], *systems, *words)
    assert printed.exit_code == 0, printed.output
    assert printed.stdout == run(files[0], *systems).stdout
    table, record, tex, markdown, text = (path.read_text() for path in paths)
    assert table == run(files[0], *systems, "--format", "csv").stdout
    assert record == run(files[0], *systems, "--json").stdout
    assert tex == run(files[0], *systems, "--format", "latex").stdout
    assert markdown == run(files[0], *systems, "--format", "markdown").stdout
    assert text == run(files[0], *systems, "--wide").stdout
    if n_systems == 2:
        assert "difference" in table.splitlines()[0]
        assert len(json.loads(record)["comparisons"]) == 1
        assert "diff." in tex
        assert "diff." in markdown


@pytest.mark.parametrize("name", ["result", "result.xlsx", "hyp.csv"])
def test_a_result_needs_a_known_suffix_and_a_file_of_its_own(files, tmp_path, name):
    hyp = tmp_path / "hyp.csv"
    write_turns(hyp, read_rttm(files[1]))
    before = hyp.read_text()
    result = run(files[0], str(hyp), "-o", str(tmp_path / name))
    assert result.exit_code == (1 if name == "hyp.csv" else 2)
    assert hyp.read_text() == before
    assert not (tmp_path / "result").exists()
    assert not (tmp_path / "result.xlsx").exists()


def test_warnings_name_file_and_line(tmp_path, files):
    hyp = rttm(
        tmp_path / "s.rttm", ("r", 0, 6, "x"), ("r", 5, 5, "x"), ("z", 0, 1, "x")
    )
    result = run(files[0], hyp, "--json")
    assert f"{hyp}:2: warning: speaker 'x' overlaps" in result.stderr
    assert f"{hyp}:3: warning: recording 'z'" in result.stderr
    assert "recording 'q' is not in the hypothesis" in result.stderr
    assert result.exit_code == 0
    assert run(files[0], hyp, "--strict").exit_code == 1


def test_labels_are_scored_as_a_clustering(tmp_path):
    truth, found = tmp_path / "utt2spk", tmp_path / "found.txt"
    truth.write_text("u1 a\nu2 a\nu3 b\nu4 b\n")
    found.write_text("u1 1\nu2 1\nu3 1\nu5 2\n")
    result = run(str(truth), str(found), "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    # u1-u3: one cluster of a, a, b: ACP 4/9 + 1/9, ARI 0
    assert figures["n_segments"] == 3
    assert figures["acp"] == pytest.approx(5 / 9)
    assert figures["ari"] == 0.0
    assert "1 of 4 ids are missing, the first is 'u4'" in result.stderr
    assert "v_measure" in run(str(truth), str(found)).stdout


def test_validate_lists_problems_and_fails_on_errors(tmp_path):
    path = rttm(tmp_path / "x.rttm", ("r", 0, 1, "s"), ("r", "0.5", 1, "s"))
    good = runner.invoke(app, ["validate-rttm", path])
    assert good.exit_code == 0
    assert good.stdout.splitlines() == [
        f"{path}:2: warning: speaker 's' overlaps an earlier turn of the same speaker",
        "0 errors, 1 warning, 0 notes",
    ]
    uem = tmp_path / "x.uem"
    uem.write_text("r 1 5 5\n")
    bad = runner.invoke(app, ["validate-rttm", path, str(uem), "--json"])
    assert bad.exit_code == 1
    report = json.loads(bad.stdout)
    assert (report["errors"], report["warnings"]) == (1, 1)
    assert report["problems"][1]["line"] == 1


def test_the_options_are_those_of_the_python_function():
    shown = {"layout", "everything", "only_overall", "mapping", "errors", "wide"}
    shown |= {"details", "explain", "output"}
    given = {"files", "ref", "sys_files", "ctx", "words"}
    command = set(inspect.signature(score.score).parameters) - shown - given
    of_words = set(inspect.signature(score_words).parameters)
    assert of_words - {"reference", "hypothesis", "progress"} <= command
    command -= {"normalise"}
    # Python has one `scheduler` for all functions.
    assert command - {"strict", "as_json", "scheduler"} == set(
        inspect.signature(score_systems).parameters
    ) - {"reference", "hypotheses", "progress"}


def test_the_printed_text_is_that_of_the_report(files):
    printed = run(*files).stdout.replace(" rules (--explain): ", " rules: ")
    assert printed == f"{python_score(*files)}\n"
    assert json.loads(run(*files, "--json").stdout) == python_score(*files).to_dict()


# --- habits of other tools --------------------------------------------------------


def der(*args, **kwargs):
    result = runner.invoke(app, ["score", *args, "--json"], **kwargs)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["overall"]["der"]


def test_files_are_given_as_to_dscore_and_md_eval(files, tmp_path):
    ref, hyp = files
    assert der("-r", ref, "-s", hyp) == 0.4
    assert der("-s", hyp, "-r", ref, "-c", "0.25") == der(*files, "--collar", "0.25")
    uem = tmp_path / "x.uem"
    uem.write_text("r 1 0 5\nq 1 0 11\n")
    assert der("-1", "-u", str(uem), "-r", ref, "-s", hyp) == der(
        *files, "--uem", str(uem), "--ignore-overlap"
    )
    # Several files are parts of one reference and of one system.
    parts = []
    for path in files:
        for name in "qr":
            part = tmp_path / f"{name}-{len(parts)}.rttm"
            lines = Path(path).read_text().splitlines(keepends=True)
            part.write_text("".join(x for x in lines if x.split()[1] == name))
            parts.append(str(part))
    assert der("-r", *parts[:2], "-s", *parts[2:]) == 0.4
    assert der("-r", *parts[:2], "--collar", "0", "-s", *parts[2:]) == 0.4


@pytest.mark.parametrize(
    "words",
    [
        "-r REF",
        "-s HYP",
        "REF",
        "",
        "-r -s HYP",
        "HYP -r REF -s HYP",
        "- -",
        "REF HYP --measure wer --bootstrap 10",
        "REF HYP --collar 0.25 --collar-total 0.5",
    ],
)
def test_a_wrong_command_line_is_refused(files, words):
    named = {"REF": files[0], "HYP": files[1]}
    assert run(*(named.get(word, word) for word in words.split())).exit_code == 2


def test_standard_input_and_compressed_files_are_scored(files, tmp_path):
    ref, hyp = files
    text = Path(hyp).read_bytes()
    assert der(ref, "-", input=text) == 0.4
    packed = tmp_path / "hyp.rttm.gz"
    packed.write_bytes(gzip.compress(text))
    assert der(ref, str(packed)) == 0.4
    assert der("-r", ref, "-s", "-", input=text) == 0.4


def test_a_collar_in_milliseconds_is_questioned(files):
    result = run(*files, "--collar", "250")
    assert (result.exit_code, "meant in milliseconds" in result.stderr) == (0, True)
    assert run(*files, "--collar", "250", "--strict").exit_code == 1
    assert "meant in milliseconds" not in run(*files, "--collar", "5").stderr


@pytest.mark.parametrize("suffix", [".rttm", ".json", ".csv", ".srt", ".vtt", ".eaf"])
def test_an_empty_hypothesis_is_a_hypothesis(files, tmp_path, suffix):
    empty = tmp_path / f"nobody{suffix}"
    empty.write_text("")
    assert der(files[0], str(empty)) == 1.0
    result = run(files[0], files[1], str(empty), "--bootstrap", "20", "--json")
    assert json.loads(result.stdout)["comparisons"][0]["first"] == 1.0


@pytest.fixture
def transcripts(tmp_path):
    """Paths of a reference, and of a system that misses a word of two recordings."""
    paths = []
    for name, second in (("ref", "No, never."), ("hyp", "no")):
        lines = [
            {
                "session_id": r,
                "speaker": s,
                "start_time": t,
                "end_time": t + 2,
                "words": w,
            }
            for r in "mn"
            for s, t, w in (("A", 0, "yes"), ("B", 2, second))
        ]
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps(lines))
    return [str(path) for path in paths]


def test_words_are_scored_and_the_settings_shown(transcripts):
    result = run(*transcripts, "--words", "--mapping")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split()[-2:] == ["WDER", "%"]
    assert [line.split()[0] for line in lines[1:4]] == ["m", "n", "POOLED"]
    assert "lower case" in result.stdout
    # B said two words in each recording; one was deleted, none has a wrong speaker.
    assert [line.split() for line in lines if line.split()[1:2] == ["B"]] == [
        [name, "B", "B", "2", "0", "0", "1", "0"] for name in "mn"
    ]


def test_words_as_json_and_csv_have_the_rates_of_the_function(transcripts, tmp_path):
    output = tmp_path / "rates.csv"
    result = run(*transcripts, "--words", "--json", "-o", str(output), "-c", "0")
    report = score_words(*transcripts, collar=0.0)
    printed = json.loads(result.stdout)
    assert printed["overall"] == report.to_dict()["overall"]
    assert printed["settings"]["collar"] == 0.0
    rows = list(csv.DictReader(output.read_text().splitlines()))
    (pooled,) = [
        row for row in rows if (row["recording"], row["measure"]) == ("POOLED", "WDER")
    ]
    # Two words of three are aligned in each recording, with the right speakers.
    assert (pooled["errors"], pooled["words"], pooled["deleted"]) == ("0", "4", "")


def test_systems_are_compared_by_words(transcripts):
    ref, hyp = transcripts
    result = run(ref, hyp, ref, "--words", "--measure", "wder", "--bootstrap", "50")
    assert result.exit_code == 0
    assert "diff.: WDER less the WDER of hyp" in result.stdout


def test_options_of_turns_do_not_apply_to_words(transcripts):
    result = run(*transcripts, "--words", "--ignore-overlap")
    assert result.exit_code == 2
    assert "--words" in result.output


def test_strict_refuses_words_without_meeteval(transcripts, monkeypatch):
    monkeypatch.setitem(sys.modules, "meeteval", None)
    assert run(*transcripts, "--words").exit_code == 0
    assert run(*transcripts, "--words", "--strict").exit_code == 1
