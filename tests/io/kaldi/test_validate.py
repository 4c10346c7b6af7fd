"""Data directories checked and repaired."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.validate import fix_data_dir, validate_data_dir
from sms_diar.types import Segment

SOUND = {
    "wav.scp": "r1 wav/r1.wav\nr2 wav/r2.wav\n",
    "segments": "s1-a r1 0 1\ns1-b r1 1 2\ns2-a r2 0.5 2\n",
    "utt2spk": "s1-a s1\ns1-b s1\ns2-a s2\n",
    "spk2utt": "s1 s1-a s1-b\ns2 s2-a\n",
    "reco2num_spk": "r1 1\nr2 1\n",
    "spk2gender": "s1 f\ns2 m\n",
}


@pytest.fixture
def make(tmp_path):
    """Make the sound directory, with some tables replaced (None: left out)."""

    def write(name="data", **changes):
        folder = tmp_path / name
        (folder / "wav").mkdir(parents=True)
        for recording in ("r1", "r2"):  # two seconds each
            silence = np.zeros(16000)
            soundfile.write(folder / "wav" / f"{recording}.wav", silence, 8000)
        for table, text in (SOUND | changes).items():
            if text is not None:
                content = text.encode() if isinstance(text, str) else text
                (folder / table).write_bytes(content)
        return folder

    return write


def agree(found, expected):
    """Compare problems in any order; the expected texts may be only beginnings."""
    assert len(found) == len(expected), found
    for text, start in zip(sorted(found), sorted(expected), strict=True):
        assert text.startswith(start)


def listed(folder, **kwargs):
    """Problems without the folder, as ``severity table:line: text``."""
    return [
        f"{problem.severity} {Path(problem.path).name}"
        f"{'' if problem.line is None else f':{problem.line}'}: {problem.text}"
        for problem in validate_data_dir(folder, **kwargs)
    ]


def test_a_sound_directory_has_no_problems(make):
    assert validate_data_dir(make()) == []


LATE = "after the end of recording 'r1' at 2"
BROKEN = {
    "missing tables": (
        {"wav.scp": None, "utt2spk": None, "spk2utt": None, "spk2gender": None},
        [
            "error wav.scp: no such file",
            "error utt2spk: no such file",
            "error spk2utt: no such file",
        ],
    ),
    "empty table": (
        {"spk2gender": ""},
        [
            "warning spk2gender: 2 of 2 speakers are not listed, first 's1'",
            "error spk2gender: the file is empty",
        ],
    ),
    "order": (
        {"utt2spk": "s1-b s1\ns1-a s1\ns2-a s2\n"},
        ["error utt2spk:2: ids must be in C locale order, got 's1-a' after"],
    ),
    "locale order is not C order": (
        {
            "segments": "a r1 0 1\nB r2 0 1\n",
            "utt2spk": "B B\na a\n",
            "spk2utt": "B B\na a\n",
            "spk2gender": None,
        },
        ["error segments:2: ids must be in C locale order, got 'B' after 'a';"],
    ),
    "twice": (
        {"segments": SOUND["segments"] + "s2-a r2 1 2\n"},
        ["error segments:4: id 's2-a' is given twice, first on line 3"],
    ),
    "bytes": (
        {"spk2gender": b"\xef\xbb\xbfs1 f\r\n\ns2 m\r\ns\xe9 m\n"},
        [
            "error spk2gender:1: the file begins with a byte order mark; save it as",
            "error spk2gender:1: the line ends in CR LF, and Kaldi would read the CR",
            "error spk2gender:2: the line is blank; remove it",
            "error spk2gender:4: byte 0xe9 in column 2 is not UTF-8; convert the",
        ],
    ),
    "no line end": (
        {"spk2gender": "s1 f\ns2 m"},
        ["warning spk2gender:2: the last line has no line end; Kaldi refuses that"],
    ),
    "fields": (
        {"utt2spk": "s1-a s1\ns1-b\ns2-a s2\n", "spk2utt": "s1 s1-a\ns2 s2-a\n"},
        [
            "error segments:2: id 's1-b' is not in utt2spk",
            "error utt2spk:2: a utt2spk line has 2 fields, this one has 1",
        ],
    ),
    "bad segments": (
        {"segments": SOUND["segments"].replace("1 2", "2 1").replace("0 1", "0 x")},
        [
            "error segments:1: end must be a number of seconds, got 'x'",
            "error segments:2: a segment must satisfy 0 <= start < end, got",
            "warning wav.scp:1: recording 'r1' has no segments; Kaldi refuses that",
            "error utt2spk:1: id 's1-a' is not in segments",
            "error utt2spk:2: id 's1-b' is not in segments",
        ],
    ),
    "unknown recording": (
        {"segments": "s1-a r1 0 1\ns1-b rx 1 2\ns1-c rx 2 3\ns2-a r2 0 1\n"},
        [
            "error segments:2: recording 'rx' is not in wav.scp (2 segments)",
            "error segments:3: id 's1-c' is not in utt2spk",
            "warning reco2num_spk: 1 of 3 recordings are not listed, first 'rx'",
        ],
    ),
    "too long": (
        {
            "segments": "s1-a r1 0 2.2\ns1-b r1 1 2.5\ns2-a r1 2 2.1\n",
            "wav.scp": "r1 wav/r1.wav\n",
            "reco2num_spk": None,
        },
        [
            f"warning segments:1: the segment ends at 2.2, {LATE}",
            f"error segments:2: the segment ends at 2.5, {LATE}",
            f"error segments:3: the segment starts at 2.0, {LATE}",
        ],
    ),
    "rounded": ({"segments": SOUND["segments"].replace("1 2", "1 2.01")}, []),
    "reco2dur is believed": (
        {"reco2dur": "r1 1.2\nr2 2\n"},
        ["error segments:2: the segment ends at 2.0, after the end of recording"],
    ),
    "to the end": (
        {"segments": SOUND["segments"].replace("1 2", "1 -1")},
        ["warning segments:2: an end of -1 means the end of the recording;"],
    ),
    "to an unknown end": (
        {
            "segments": SOUND["segments"].replace("1 2", "1 -1"),
            "wav.scp": "r1 cat r1.wav |\nr2 wav/r2.wav\n",
        },
        [
            "note wav.scp:1: the audio of 'r1' is a command, which is not run or",
            "error segments:2: an end of -1 means the end of the recording, whose",
        ],
    ),
    "audio": (
        {
            "wav.scp": "r1 none.wav\nr2 ~/r2.wav\nr3 a.ark:3\nr4 utt2spk\n",
            "reco2num_spk": None,
        },
        [
            "error wav.scp:1: no audio file 'none.wav'",
            "error wav.scp:2: the path '~/r2.wav' begins with ~, which only shells",
            "note wav.scp:3: the audio of 'r3' is in an archive, which is not opened",
            "warning wav.scp:3: recording 'r3' has no segments; Kaldi refuses that",
            "warning wav.scp:4: recording 'r4' has no segments; Kaldi refuses that",
        ],
    ),
    "speakers disagree": (
        {"spk2utt": "s1 s1-b s1-a s2-a\ns2 s1-a\ns3 s3-a\n"},
        [
            "error spk2utt:1: id 's2-a' has speaker 's2' in utt2spk",
            "warning spk2utt:1: the ids of speaker 's1' are not in C locale order",
            "error spk2utt:2: id 's1-a' is listed twice, first on line 1",
            "error spk2utt:3: id 's3-a' is not in utt2spk",
        ],
    ),
    "speaker forgotten": (
        {"spk2utt": "s1 s1-a s1-b\n"},
        ["error utt2spk:3: id 's2-a' is not in spk2utt"],
    ),
    "prefix": (
        {"utt2spk": "s1-a x\ns1-b x\ns2-a s2\n", "spk2utt": "s2 s2-a\nx s1-a s1-b\n"},
        [
            "warning utt2spk:1: 2 of 3 segment ids do not begin with the id of their",
            "error spk2gender:1: speaker 's1' is not in utt2spk",
            "warning spk2gender: 1 of 2 speakers are not listed, first 'x'",
        ],
    ),
    "one speaker": (
        {
            "utt2spk": "s1-a s\ns1-b s\ns2-a s\n",
            "spk2utt": "s s1-a s1-b s2-a\n",
            "spk2gender": None,
        },
        ["warning utt2spk: there is only one speaker"],
    ),
    "gender": (
        {"spk2gender": "s1 x\ns2 m\ns3 f\n"},
        [
            "error spk2gender:1: gender must be 'f' or 'm', got 'x'",
            "error spk2gender:3: speaker 's3' is not in utt2spk",
            "warning spk2gender: 1 of 2 speakers are not listed, first 's1'",
        ],
    ),
    "counts": (
        {"reco2num_spk": "r1 2\nr3 1\n"},
        [
            "warning reco2num_spk:1: recording 'r1' has 1 speakers by utt2spk, not 2",
            "error reco2num_spk:2: recording 'r3' is in neither wav.scp nor segments",
            "warning reco2num_spk: 1 of 2 recordings are not listed, first 'r2'",
        ],
    ),
    "no segments": (
        {"segments": None},
        [
            "error wav.scp:1: id 'r1' is not in utt2spk",
            "error wav.scp:2: id 'r2' is not in utt2spk",
            "error utt2spk:1: id 's1-a' is not in wav.scp",
            "error utt2spk:2: id 's1-b' is not in wav.scp",
            "error utt2spk:3: id 's2-a' is not in wav.scp",
        ],
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_all_problems_are_listed_at_once(make, case):
    changes, expected = BROKEN[case]
    found = listed(make(**changes))
    if case == "audio":  # the words of the fourth are libsndfile's
        [unreadable] = [text for text in found if "cannot be read as audio" in text]
        assert unreadable.startswith("error wav.scp:4: 'utt2spk' cannot be read")
        found.remove(unreadable)
    agree(found, expected)


def test_problems_come_by_table_and_line(make):
    found = validate_data_dir(make(**BROKEN["bad segments"][0]))
    assert [(Path(problem.path).name, problem.line) for problem in found] == [
        ("wav.scp", 1),
        ("segments", 1),
        ("segments", 2),
        ("utt2spk", 1),
        ("utt2spk", 2),
    ]


def test_required_tables_can_be_chosen(make):
    folder = make(**BROKEN["missing tables"][0])
    assert listed(folder, require=["segments"]) == []
    with pytest.raises(InvalidParameterError, match="reco2dur, got 'text'"):
        validate_data_dir(folder, require=["text"])


@pytest.mark.corpus
@pytest.mark.parametrize(
    "name", ["arabic8k", "audiomnist8k", "libri251-8k", "libri-testother10-8k"]
)
def test_real_directories_are_sound(corpus_data, name):
    assert validate_data_dir(corpus_data / name) == []


@pytest.mark.corpus
def test_windows_without_audio_are_sound_if_none_is_required(corpus_data):
    assert validate_data_dir(corpus_data / "ami-es2005a", require=["segments"]) == []


def dropped(source, target):
    return [
        f"{Path(problem.path).name}:{problem.line}: {problem.text}"
        for problem in fix_data_dir(source, target)
    ]


def test_a_sound_directory_is_copied_with_its_audio_still_found(make, tmp_path):
    source, target = make(), tmp_path / "fixed"
    assert fix_data_dir(source, target) == []
    assert validate_data_dir(target) == []
    assert DataDir(target).segments == DataDir(source).segments
    assert DataDir(target).wav_path("r1") == source / "wav" / "r1.wav"
    for table in ("utt2spk", "spk2utt", "reco2num_spk", "spk2gender"):
        assert (target / table).read_text() == SOUND[table]


def test_repair_keeps_what_all_tables_share(make, tmp_path):
    source = make(
        **{
            "wav.scp": "r2 wav/r2.wav\nr1 wav/r1.wav\nr3 none.wav\nr4 wav/r1.wav\n",
            "segments": (
                "s2-a r2 0.5 2.25\n"  # shortened
                "s1-a r1 0 1\n"
                "s1-a r1 0 2\n"  # second of its id
                "s1-b r1 2 1\n"  # ends before it starts
                "s1-c r1 1 2\n"  # has no speaker
                "s1-d r3 0 1\n"  # has no audio
                "s1-e r1 5 6\n"  # after the end
                "s1-f r1 1 6\n"  # long after the end
                "s1-g r1 1 -1\n"  # to the end
            ),
            "utt2spk": "s2-a s2\r\ns1-a s1\r\ns1-d s1\r\ns1-g s1\r\ns1-z s3\r\n",
            "spk2utt": "nonsense\n",
            "reco2num_spk": "r1 1\nr2 1\nr3 1\n",
            "spk2gender": "s1 f\n\ns2 m\ns3 m\n",
        }
    )
    before = {path: path.read_bytes() for path in source.rglob("*") if path.is_file()}
    target = tmp_path / "fixed"
    expected = [
        "wav.scp:3: dropped 'r3': no audio file 'none.wav'",
        "wav.scp:4: dropped 'r4': it has no usable segments",
        "segments:1: shortened 's2-a': it ended after its recording",
        "segments:3: dropped: id 's1-a' is given twice, first on line 2",
        "segments:4: dropped: a segment must satisfy 0 <= start < end, got",
        "segments:5: dropped 's1-c': it has no speaker",
        "segments:6: dropped 's1-d': recording 'r3' has no usable audio",
        "segments:7: dropped 's1-e': it starts after the end of its recording",
        "segments:8: dropped 's1-f': it ends long after its recording",
        "utt2spk:3: dropped 's1-d': it has no usable segment",
        "utt2spk:5: dropped 's1-z': it has no usable segment",
        "reco2num_spk:3: dropped 'r3': it is not a usable recording",
        "spk2gender:4: dropped 's3': it has no usable segments",
    ]
    agree(dropped(source, target), expected)
    assert validate_data_dir(target) == []
    assert DataDir(target).segments == {
        "s1-a": Segment("r1", 0.0, 1.0),
        "s1-g": Segment("r1", 1.0, 2.0),
        "s2-a": Segment("r2", 0.5, 2.0),
    }
    assert (target / "utt2spk").read_bytes() == b"s1-a s1\ns1-g s1\ns2-a s2\n"
    assert (target / "spk2utt").read_bytes() == b"s1 s1-a s1-g\ns2 s2-a\n"
    assert before == {
        path: path.read_bytes() for path in source.rglob("*") if path.is_file()
    }


HOPELESS = {"missing tables", "no segments"}


@pytest.mark.parametrize("case", sorted(BROKEN.keys() - HOPELESS - {"audio"}))
def test_a_repaired_directory_has_no_errors(make, tmp_path, case):
    fix_data_dir(make(**BROKEN[case][0]), tmp_path / "fixed")
    problems = validate_data_dir(tmp_path / "fixed")
    assert [str(problem) for problem in problems if problem.severity == "error"] == []


def test_repair_takes_speakers_from_spk2utt_if_that_is_all_there_is(make, tmp_path):
    fix_data_dir(make(utt2spk=None), tmp_path / "fixed")
    assert (tmp_path / "fixed" / "utt2spk").read_text() == SOUND["utt2spk"]


def test_repair_without_segments_keeps_recordings_with_speakers(make, tmp_path):
    source = make(segments=None, utt2spk="r1 s1\nr3 s3\n", spk2utt=None)
    assert dropped(source, tmp_path / "fixed") == [
        "wav.scp:2: dropped 'r2': it has no speaker",
        "utt2spk:2: dropped 'r3': it has no usable segment",
        "reco2num_spk:2: dropped 'r2': it is not a usable recording",
        "spk2gender:2: dropped 's2': it has no usable segments",
    ]
    assert (tmp_path / "fixed" / "spk2utt").read_text() == "s1 r1\n"


def test_nothing_is_written_if_nothing_is_left(make, tmp_path):
    source = make(segments=None)
    with pytest.raises(DataFormatError, match="the first of 5 problems") as caught:
        fix_data_dir(source, tmp_path / "fixed")
    assert caught.value.path == source
    assert not (tmp_path / "fixed").exists()


def test_repair_is_never_in_place(make, tmp_path):
    source = make()
    for target in (source, source / "utt2spk"):
        with pytest.raises(InvalidParameterError, match="new or empty directory"):
            fix_data_dir(source, target)
    (tmp_path / "empty").mkdir()
    assert fix_data_dir(source, tmp_path / "empty") == []
