"""``sms-diar validate-data``: every problem, its location, and the repaired copy."""

import json

import numpy as np
import pytest
import soundfile

from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.validate import validate_data_dir

SOUND = {
    "wav.scp": "r1 wav/r1.wav\n",
    "segments": "s1-a r1 0 1\ns2-a r1 1 2\n",
    "utt2spk": "s1-a s1\ns2-a s2\n",
    "spk2utt": "s1 s1-a\ns2 s2-a\n",
}


@pytest.fixture(name="make")
def data_directory(tmp_path, monkeypatch):
    """Make a valid directory d with some tables replaced (None: omitted)."""
    monkeypatch.chdir(tmp_path)

    def write(changes=None):
        (tmp_path / "d" / "wav").mkdir(parents=True)
        soundfile.write(tmp_path / "d" / "wav" / "r1.wav", np.zeros(16000), 8000)
        for table, text in (SOUND | (changes or {})).items():
            if text is not None:
                (tmp_path / "d" / table).write_text(text)
        return tmp_path / "d"

    return write


@pytest.fixture(name="check")
def command(run_cli):
    """Run the command; return exit code, output lines and standard error."""

    def run(*arguments):
        result = run_cli("validate-data", *arguments)
        return result.returncode, result.stdout.splitlines(), result.stderr

    return run


def test_a_sound_directory(make, check):
    make()
    assert check("d") == (0, ["0 errors, 0 warnings, 0 notes"], "")


def test_all_problems_are_listed_with_their_place(make, check):
    make(
        {
            "segments": "s1-a r1 0 1\ns2-a r1 5 4\ns3-a r9 0 1\n",
            "utt2spk": "s1-a s1\ns2-a s2 extra\n",
        }
    )
    code, lines, err = check("d")
    assert (code, err) == (1, "")
    assert [":".join(line.split(":")[:-1]) for line in lines[:4]] == [
        "d/segments:2: error",
        "d/segments:3: error",
        "d/segments:3: error",
        "d/utt2spk: warning",
    ]
    assert lines[-1] == "5 errors, 1 warning, 0 notes"


def test_warnings_and_notes_alone_are_no_failure(make, check):
    make({"wav.scp": "r1 cat wav/r1.wav |\nr2 wav/r1.wav\n"})
    code, lines, err = check("d")
    assert (code, err) == (0, "")
    assert lines[0].startswith("d/wav.scp:1: note: ")
    assert lines[1].startswith("d/wav.scp:2: warning: recording 'r2'")
    assert lines[2:] == ["0 errors, 1 warning, 1 note"]


def test_tables_that_are_not_needed_may_be_left_out(make, check):
    make({"wav.scp": None, "utt2spk": None, "spk2utt": None})
    assert check("d")[0] == 1
    code, lines, _ = check("d", "--no-audio", "--no-speakers")
    assert (code, lines) == (0, ["0 errors, 0 warnings, 0 notes"])


def test_machines_get_an_object(make, check):
    make({"utt2spk": "s1-a s1\n", "spk2utt": "s1 s1-a\n"})
    code, lines, _ = check("d", "--json")
    answer = json.loads("\n".join(lines))
    first, second = answer.pop("problems")
    assert code == 1
    assert answer == {"directory": "d", "errors": 1, "warnings": 1, "notes": 0}
    assert list(first) == ["path", "line", "severity", "text"]
    assert list(first.values())[:3] == ["d/segments", 2, "error"]
    assert list(second.values())[:3] == ["d/utt2spk", None, "warning"]


BROKEN = {
    "segments": "s2-a r1 1 2\ns1-a r1 0 1\ns3-a r9 0 1\n",
    "utt2spk": "s1-a s1\ns2-a s2\ns3-a s3\n",
    "spk2utt": "s1 s1-a\n",
}


def test_a_repaired_copy_is_written_and_its_losses_listed(make, check, tmp_path):
    make(BROKEN)
    code, lines, err = check("d", "--fix", "new")
    assert (code, err) == (0, "")
    assert lines[4] == "4 errors, 0 warnings, 0 notes"
    assert lines[5].startswith("d/segments:3: note: dropped 's3-a': ")
    assert lines[6].startswith("d/utt2spk:3: note: dropped 's3-a': ")
    assert lines[7:] == ["wrote new; 2 lines dropped or changed"]
    assert validate_data_dir("new") == []
    assert dict(DataDir("new").utt2spk) == {"s1-a": "s1", "s2-a": "s2"}
    assert (tmp_path / "d" / "segments").read_text() == BROKEN["segments"]


def test_repair_for_machines(make, check):
    make(BROKEN)
    code, lines, _ = check("d", "--fix", "new", "--json")
    answer = json.loads("\n".join(lines))
    assert code == 0
    assert answer["errors"] == 4
    assert answer["fixed"]["directory"] == "new"
    assert (answer["fixed"]["errors"], answer["fixed"]["problems"]) == (0, [])
    assert [row["line"] for row in answer["fixed"]["dropped"]] == [3, 3]


def test_what_repair_cannot_mend_is_still_a_failure(make, check):
    make({"wav.scp": None})
    code, lines, _ = check("d", "--fix", "new")
    assert code == 1
    assert lines[-4:] == [
        "wrote new; 0 lines dropped or changed",
        "remaining errors:",
        "new/wav.scp: error: no such file",
        "1 error, 0 warnings, 0 notes",
    ]


def test_what_is_missing_is_named(make, check, tmp_path):
    make({"wav.scp": "r9 wav/r9.wav\n"})
    for words, exit_code, text in (
        ((), 2, "Missing argument"),
        (("gone",), 1, "sms-diar: gone: "),
        (("d", "--fix", "new"), 1, "sms-diar: d: no segment remains"),
    ):
        code, _, err = check(*words)
        assert (code, text in err) == (exit_code, True)
    assert not (tmp_path / "new").exists()
