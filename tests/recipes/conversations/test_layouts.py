"""Each layout on a tiny tree of the same shape."""

import numpy as np
import pytest
import soundfile

from recipes.conversations.corpus import Place
from recipes.conversations.layouts import LAYOUTS
from sms_diar.errors import ConfigError, DataFormatError, MissingFileError

RATE = 8000


def write_audio(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, 0.1 * np.random.default_rng(0).standard_normal(RATE), RATE)


def write_lines(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))


def turn(name, start=0.1, speaker="ann", channel=1):
    return f"SPEAKER {name} {channel} {start} 0.5 <NA> <NA> {speaker} <NA> <NA>"


def read(layout, data, *, audio=None, split="", **options):
    chosen = LAYOUTS[layout]
    return chosen.read(
        Place(data, audio or data, chosen.split(layout, split), **options)
    )


def summary(conversations):
    return [(one.recording, one.n_speakers) for one in conversations]


def make_ami(root):
    setup, audio = root / "setup", root / "amicorpus"
    write_lines(setup / "lists" / "test.meetings.txt", "IS1009a", "ES2004a")
    for name in ("ES2004a", "IS1009a"):
        rttm = setup / "only_words" / "rttms" / "test" / f"{name}.rttm"
        write_lines(rttm, turn(name), turn(name, 0.4, "bob"))
        write_lines(setup / "uems" / "test" / f"{name}.uem", f"{name} 1 0.000 0.95")
        for microphone in ("Mix-Headset", "Array1-01"):
            write_audio(audio / name / "audio" / f"{name}.{microphone}.wav")
    return setup, audio


def make_dihard(root, base="data"):
    data = root / base
    for name in ("DH_DEV_0001", "DH_DEV_0002"):
        write_audio(data / "flac" / f"{name}.flac")
        write_lines(data / "rttm" / f"{name}.rttm", turn(name))
        write_lines(data / "uem" / f"{name}.uem", f"{name} 1 0 0.9")
    return data


def make_msdwild(root):
    for name in ("00001", "00002", "00003"):
        write_audio(root / "wav" / f"{name}.wav")
    few = [turn("00001", channel=0), turn("00002", channel=0)]
    write_lines(root / "rttms" / "few.val.rttm", *few)
    write_lines(root / "rttms" / "many.val.rttm", turn("00003", channel=0))


@pytest.mark.parametrize("microphone", ["Mix-Headset", "Array1-01"])
def test_ami_has_lists_rttm_and_uem_and_a_microphone(tmp_path, microphone):
    setup, audio = make_ami(tmp_path)
    # The recordings may also lie in a folder amicorpus.
    for place in (audio, tmp_path):
        found = read("ami", setup, audio=place, microphone=microphone)
        assert summary(found) == [("ES2004a", 2), ("IS1009a", 2)]
        assert found[0].audio.text == str(
            audio / "ES2004a" / "audio" / f"ES2004a.{microphone}.wav"
        )
        [region] = found[0].regions
        assert (region.start, region.end) == (0.0, 0.95)


def test_meetings_can_be_selected_and_regions_ignored(tmp_path):
    setup, audio = make_ami(tmp_path)
    (audio / "IS1009a" / "audio" / "IS1009a.Mix-Headset.wav").unlink()
    options = {"microphone": "Mix-Headset", "only": ("ES2004a",), "use_uem": False}
    [found] = read("ami", setup, audio=audio, **options)
    assert (found.recording, found.regions) == ("ES2004a", None)


@pytest.mark.parametrize(
    ("split", "place"),
    [
        ("dev", "audio"),
        ("test", "voxconverse_test_wav"),
        ("test", "voxconverse_test_wav/audio"),
        ("test", "test"),
    ],
)
def test_voxconverse_has_rttm_by_split_and_unpacked_archives(tmp_path, split, place):
    for name in ("abjxc", "afjiv"):
        write_lines(tmp_path / split / f"{name}.rttm", turn(name))
        write_audio(tmp_path / place / f"{name}.wav")
    write_lines(tmp_path / ("test" if split == "dev" else "dev") / "x.rttm", turn("x"))
    found = read("voxconverse", tmp_path, split=split)
    assert summary(found) == [("abjxc", 1), ("afjiv", 1)]
    assert found[0].audio.text == str(tmp_path / place / "abjxc.wav")
    assert found[0].regions is None


def test_dihard_has_flac_rttm_and_a_uem_of_each_recording(tmp_path):
    make_dihard(tmp_path)
    found = read("dihard", tmp_path)
    assert summary(found) == [("DH_DEV_0001", 1), ("DH_DEV_0002", 1)]
    assert [region.end for one in found for region in one.regions] == [0.9, 0.9]


def test_dihard_2_has_regions_of_all_beside_those_of_domains(tmp_path):
    data = make_dihard(tmp_path, "data/single_channel")
    lines = [f"DH_DEV_000{i} 1 0 0.8" for i in (1, 2)]
    write_lines(data / "uem" / "all.uem", *lines)
    found = read("dihard", tmp_path)
    assert [region.end for one in found for region in one.regions] == [0.8, 0.8]


def test_the_core_of_dihard_3_is_what_its_regions_list(tmp_path):
    core = make_dihard(tmp_path) / "uem_scoring" / "core" / "all.uem"
    write_lines(core, "DH_DEV_0002 1 0 0.7")
    [found] = read("dihard", tmp_path, split="core")
    assert (found.recording, found.regions[0].end) == ("DH_DEV_0002", 0.7)


def test_msdwild_has_an_rttm_of_each_split_or_clip(tmp_path):
    make_msdwild(tmp_path)
    assert summary(read("msdwild", tmp_path)) == [("00001", 1), ("00002", 1)]
    assert summary(read("msdwild", tmp_path, split="many.val")) == [("00003", 1)]
    for path in (tmp_path / "rttms").iterdir():
        path.unlink()
    write_lines(tmp_path / "rttms" / "00002.rttm", turn("00002", channel=0))
    assert summary(read("msdwild", tmp_path)) == [("00002", 1)]


def make_calls(root, write_silence):
    """Calls of CALLHOME: speech and transcripts are on different discs."""
    for split, spelt, name in (
        ("train", "train", "en_4065"),
        ("evaltest", "evltest", "en_4077"),
    ):
        write_silence(root / "LDC97S42" / "data" / spelt / f"{name}.sph")
        path = root / "LDC97T14" / "transcrpt" / split / f"{name}.txt"
        path.parent.mkdir(parents=True)
        text = (
            b"# Language: English\n\n0.05 0.07 A: %uh hello\n and so on\n"
            b"0.06 0.09 B1: \xba\xc3\n0.09 0.09 B: x\n0.02 0.03 B: hello\n"
        )
        path.write_bytes(text)
    write_lines(root / "LDC97T14" / "doc" / "evaltest" / "readme.txt", "1 2 A: no")
    return root / "LDC97T14", root / "LDC97S42"


def test_calls_of_callhome_are_scored_where_they_are_transcribed(
    tmp_path, write_silence
):
    data, audio = make_calls(tmp_path, write_silence)
    [found] = read("callhome-calls", data, audio=audio)
    assert (found.recording, found.n_speakers) == ("en_4077", 3)
    assert found.audio.text == str(audio / "data" / "evltest" / "en_4077.sph")
    times = [(turn.segment.start, turn.segment.end) for turn in found.turns]
    assert times == [(0.05, 0.07), (0.06, 0.09), (0.02, 0.03)]
    [region] = found.regions
    assert (region.start, region.end) == (0.02, 0.09)
    [other] = read("callhome-calls", data, audio=audio, split="train", use_uem=False)
    assert (other.recording, other.regions) == ("en_4065", None)


MEETING = "EDI_20050216-1051"


def make_rt(root, reference="rttm"):
    name = MEETING
    if reference == "rttm":
        info = f"SPKR-INFO {name} 1 <NA> <NA> <NA> unknown ann <NA> <NA>"
        for task in ("spkr", "sad"):
            speaker = "ann" if task == "spkr" else "speech"
            path = root / "refs" / f"eval05s.{task}.mdm.rttm"
            write_lines(path, info, turn(name, speaker=speaker), turn(name, 0.4, "bob"))
    else:
        stm = (
            ";; comment",
            f"{name} 1 ann 0.1 0.6 <o,f0,female> hello",
            f"{name} 1 inter_segment_gap 0.6 0.7 <o,,> ",
            f"{name} 1 bob 0.7 0.9 <o,,> IGNORE_TIME_SEGMENT_IN_SCORING",
            f"{name} 1 bob 0.7 0.9 <o,f0,male> yes",
        )
        write_lines(root / "refs" / "eval05s.stm", *stm)
    write_lines(root / "refs" / "eval05s.uem", f"{name} 1 0.0 0.8")
    for microphone in ("d01", "d02"):
        write_audio(root / "audio" / f"{name}_{microphone}_NONE.wav")
    write_audio(root / "audio" / "beamformed" / f"{name}_MDM.wav")


@pytest.mark.parametrize("reference", ["rttm", "stm"])
@pytest.mark.parametrize(
    ("microphone", "file"), [("mdm", "_MDM.wav"), ("d02", "_d02_NONE.wav")]
)
def test_meetings_of_rt_have_rttm_or_stm_and_uem(tmp_path, reference, microphone, file):
    make_rt(tmp_path, reference)
    [found] = read("rt", tmp_path, microphone=microphone)
    assert found.audio.text.endswith(f"/{MEETING}{file}")
    assert [turn.speaker for turn in found.turns] == ["ann", "bob"]
    assert found.regions[0].end == 0.8


ICSI = """<?xml version="1.0"?><nite:root xmlns:nite="http://nite.sourceforge.net/">
{}</nite:root>"""


def make_icsi(root):
    for name in ("Bmr013", "Bmr001"):
        for channel, speaker in (("A", "me011"), ("B", "fe008")):
            segments = [
                f'<segment starttime="0.1" endtime="0.5" participant="{speaker}"/>',
                # without words
                f'<segment starttime="0.6" endtime="0.9" participant="{speaker}"/>',
            ]
            words = [
                '<w starttime="0.2" endtime="0.25">so</w>',
                '<w starttime="0.3" endtime="0.4">yes</w><w starttime="" endtime=""/>',
                '<vocalsound starttime="0.6" endtime="0.8"/>',
            ]
            for kind, lines in (
                ("Segments/{}.segs", segments),
                ("Words/{}.words", words),
            ):
                path = root / f"{kind.format(f'{name}.{channel}')}.xml"
                write_lines(path, ICSI.format("\n".join(lines)))
        write_audio(root / f"{name}.interaction.wav")
        write_audio(root / name / "chan6.wav")


@pytest.mark.parametrize(
    ("microphone", "file"),
    [("Mix-Headset", "Bmr013.interaction.wav"), ("chan6", "Bmr013/chan6.wav")],
)
def test_icsi_has_segments_with_words_in_them(tmp_path, microphone, file):
    make_icsi(tmp_path)
    [found] = read("icsi", tmp_path, microphone=microphone)
    assert found.audio.text == str(tmp_path / file)
    times = {(t.speaker, t.segment.start, t.segment.end) for t in found.turns}
    assert times == {("me011", 0.2, 0.4), ("fe008", 0.2, 0.4)}
    [training] = read("icsi", tmp_path, microphone=microphone, split="train")
    assert training.recording == "Bmr001"


@pytest.mark.parametrize("layout", ["callhome", "folder"])
@pytest.mark.parametrize("reference", ["ref.rttm", "fullref.rttm"])
def test_a_kaldi_data_directory_has_its_reference_inside(tmp_path, layout, reference):
    write_audio(tmp_path / "sub" / "iaaa.wav")
    command = "iaab sph2pipe -f wav -p -c 1 /nowhere/iaab.sph |"
    write_lines(tmp_path / "wav.scp", "iaaa sub/iaaa.wav", command)
    lines = [turn("iaaa"), turn("iaab"), turn("of-another-half")]
    write_lines(tmp_path / reference, *lines)
    found = read(layout, tmp_path)
    assert summary(found) == [("iaaa", 1), ("iaab", 1)]
    assert found[0].audio.text == str(tmp_path / "sub" / "iaaa.wav")
    assert found[1].audio.is_command


@pytest.mark.parametrize("audio", [".", "wav", "audio", "flac"])
@pytest.mark.parametrize("rttm", [".", "rttm"])
def test_a_folder_has_recordings_and_an_rttm_of_each(tmp_path, audio, rttm):
    for name in ("one", "two words"):
        write_audio(tmp_path / audio / f"{name}.wav")
        known = name.replace(" ", "_")
        lines = (turn(known), turn(known, 0.3, "b"))
        write_lines(tmp_path / rttm / f"{name}.rttm", *lines)
    write_lines(tmp_path / "notes.txt", "not audio")
    found = read("folder", tmp_path)
    assert summary(found) == [("one", 2), ("two_words", 2)]
    assert found[0].regions is None
    write_lines(tmp_path / "all.uem", "one 1 0 1", "two_words 1 0 0.5")
    assert read("folder", tmp_path)[1].regions[0].end == 0.5


def test_simulated_meetings_are_a_data_directory_each(tmp_path):
    for name in ("toy-2-00", "toy-2-25"):
        write_audio(tmp_path / name / "audio" / "m.wav")
        write_lines(tmp_path / name / "wav.scp", f"{name}-0000 audio/m.wav")
        write_lines(tmp_path / name / "ref.rttm", turn(f"{name}-0000"))
    found = [("toy-2-00-0000", 1), ("toy-2-25-0000", 1)]
    assert summary(read("simulated", tmp_path)) == found
    assert summary(read("simulated", tmp_path, only=("toy-2-25-0000",))) == found[1:]


def ami_without(*path):
    def spoil(root):
        make_ami(root)
        target = root.joinpath(*path)
        for file in [target] if target.is_file() else list(target.iterdir()):
            file.unlink()
        if target.is_dir():
            target.rmdir()

    return spoil


def dihard_without_region(root):
    path = make_dihard(root) / "uem" / "DH_DEV_0002.uem"
    write_lines(path, "other 1 0 1")


def folder_of(*names, turns=("a",), table=()):
    def make(root):
        for name in names:
            write_audio(root / name)
        if turns:
            write_lines(root / "ref.rttm", *map(turn, turns))
        if table:
            write_lines(root / "wav.scp", *table)

    return make


def broken_words(root):
    make_icsi(root)
    write_lines(root / "Words" / "Bmr013.B.words.xml", "<w>", "</x>")


def stm_without_times(root):
    make_rt(root, "stm")
    write_lines(root / "refs" / "eval05s.stm", f"{MEETING} 1 ann", "x")


FIVE = [f"{name}.wav" for name in "abcde"]
AMI = {"microphone": "Mix-Headset"}
WAV = ("amicorpus", "IS1009a", "audio", "IS1009a.Mix-Headset.wav")


@pytest.mark.parametrize(
    ("layout", "make", "options", "error", "named"),
    [
        ("ami", folder_of(), AMI, MissingFileError, "setup/lists/test.meetings.txt"),
        (
            "ami",
            ami_without("setup", "uems", "test"),
            AMI,
            MissingFileError,
            "uems/test",
        ),
        ("ami", ami_without(*WAV), AMI, MissingFileError, "1 of 2 recordings: IS1009a"),
        ("voxconverse", folder_of(), {}, MissingFileError, "test"),
        (
            "voxconverse",
            lambda root: write_lines(root / "test" / "abjxc.rttm", turn("abjxc")),
            {},
            MissingFileError,
            "voxconverse_test_wav",
        ),
        ("dihard", folder_of(), {}, MissingFileError, "data/flac"),
        ("dihard", dihard_without_region, {}, DataFormatError, "DH_DEV_0002"),
        (
            "msdwild",
            make_msdwild,
            {"split": "few.train"},
            MissingFileError,
            "rttms/few.train.rttm",
        ),
        ("callhome-calls", folder_of(), {}, MissingFileError, "en_4065.txt"),
        ("rt", folder_of("a.wav", turns=()), {}, MissingFileError, "no RTTM or STM"),
        (
            "rt",
            make_rt,
            {"microphone": "NONE"},
            DataFormatError,
            "_d01_NONE.wav, .*_d02_NONE.wav",
        ),
        ("rt", stm_without_times, {"microphone": "mdm"}, DataFormatError, "stm:1: "),
        ("icsi", folder_of(), {}, MissingFileError, "Segments"),
        (
            "icsi",
            make_icsi,
            {"microphone": "chanE"},
            MissingFileError,
            "MEETING/chanE.sph: .* Bmr013",
        ),
        (
            "icsi",
            broken_words,
            {"microphone": "chan6"},
            DataFormatError,
            "Bmr013.B.words.xml:2: not whole XML",
        ),
        (
            "folder",
            folder_of(*FIVE),
            {},
            DataFormatError,
            "4 of 5 .* b, c, d and 1 more",
        ),
        ("folder", folder_of("a.wav", turns=()), {}, MissingFileError, "no ref.rttm"),
        (
            "folder",
            folder_of("a.flac", "a.wav"),
            {},
            DataFormatError,
            "a.flac and a.wav",
        ),
        ("folder", folder_of("a.wav"), {"only": ("z",)}, ConfigError, "'only' .* z"),
        (
            "folder",
            folder_of(table=["a a.wav"]),
            {},
            MissingFileError,
            "'a.wav' for 'a'",
        ),
    ],
)
def test_what_a_corpus_lacks_is_named(tmp_path, layout, make, options, error, named):
    make(tmp_path)
    place = {"data": tmp_path}
    if layout == "ami":
        place = {"data": tmp_path / "setup", "audio": tmp_path / "amicorpus"}
    with pytest.raises(error, match=named):
        read(layout, **place, **options)
