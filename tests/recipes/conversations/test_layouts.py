"""Each layout on a tiny tree of the same shape."""

import numpy as np
import pytest
import soundfile

from recipes.conversations.corpus import Place
from recipes.conversations.layouts import LAYOUTS, Rules
from sms_diar.errors import ConfigError, DataFormatError, MissingFileError

RATE = 8000


def write_audio(path, seconds=1.0):
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = 0.1 * np.random.default_rng(0).standard_normal(int(seconds * RATE))
    soundfile.write(path, noise, RATE)


def write_lines(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))


def turn(name, start=0.1, speaker="ann", channel=1):
    return f"SPEAKER {name} {channel} {start} 0.5 <NA> <NA> {speaker} <NA> <NA>"


def read(layout, data, *, audio=None, split="", **options):
    chosen = LAYOUTS[layout]
    part = chosen.split(layout, split)
    return chosen.read(Place(data, audio or data, part, **options))


def summary(conversations):
    return [(one.recording, one.n_speakers) for one in conversations]


def make_ami(root, *, uem=True):
    setup, audio = root / "setup", root / "amicorpus"
    write_lines(setup / "lists" / "test.meetings.txt", "IS1009a", "ES2004a")
    for name in ("ES2004a", "IS1009a"):
        rttm = setup / "only_words" / "rttms" / "test" / f"{name}.rttm"
        write_lines(rttm, turn(name), turn(name, 0.4, "bob"))
        if uem:
            uem_file = setup / "uems" / "test" / f"{name}.uem"
            write_lines(uem_file, f"{name} 1 0.000 0.95")
        for microphone in ("Mix-Headset", "Array1-01"):
            write_audio(audio / name / "audio" / f"{name}.{microphone}.wav")
    return setup, audio


def make_dihard(root, base="data", *, each=True):
    data = root / base
    for name in ("DH_DEV_0001", "DH_DEV_0002"):
        write_audio(data / "flac" / f"{name}.flac")
        write_lines(data / "rttm" / f"{name}.rttm", turn(name))
        if each:
            write_lines(data / "uem" / f"{name}.uem", f"{name} 1 0 0.9")
    return data


def make_msdwild(root):
    for name in ("00001", "00002", "00003"):
        write_audio(root / "wav" / f"{name}.wav")
    few = [turn("00001", channel=0), turn("00002", channel=0)]
    write_lines(root / "rttms" / "few.val.rttm", *few)
    write_lines(root / "rttms" / "many.val.rttm", turn("00003", channel=0))
    return root


@pytest.mark.parametrize("microphone", ["Mix-Headset", "Array1-01"])
def test_ami_has_lists_rttm_and_uem_and_a_microphone(tmp_path, microphone):
    setup, audio = make_ami(tmp_path)
    found = read("ami", setup, audio=audio, microphone=microphone)
    assert summary(found) == [("ES2004a", 2), ("IS1009a", 2)]
    assert found[0].audio.text == str(
        audio / "ES2004a" / "audio" / f"ES2004a.{microphone}.wav"
    )
    [region] = found[0].regions
    assert (region.start, region.end) == (0.0, 0.95)


def test_ami_may_lie_in_a_folder_amicorpus(tmp_path):
    setup, _ = make_ami(tmp_path)
    found = read("ami", setup, audio=tmp_path, microphone="Mix-Headset")
    assert len(found) == 2


def test_ami_without_uem_is_an_error_unless_it_is_to_be_ignored(tmp_path):
    setup, audio = make_ami(tmp_path, uem=False)
    with pytest.raises(MissingFileError) as caught:
        read("ami", setup, audio=audio, microphone="Mix-Headset")
    assert str(caught.value) == (
        f"{setup / 'uems' / 'test'}: no such folder; layout 'ami' has a UEM per meeting"
    )
    found = read("ami", setup, audio=audio, microphone="Mix-Headset", use_uem=False)
    assert [one.regions for one in found] == [None, None]


def test_meetings_without_audio_are_named_and_may_be_left_out(tmp_path):
    setup, audio = make_ami(tmp_path)
    (audio / "IS1009a" / "audio" / "IS1009a.Mix-Headset.wav").unlink()
    with pytest.raises(MissingFileError) as caught:
        read("ami", setup, audio=audio, microphone="Mix-Headset")
    assert str(caught.value) == (
        f"{audio}/MEETING/audio/MEETING.Mix-Headset.wav: no audio of 1 of 2 "
        f"recordings: IS1009a; the setting 'audio' names the folder of recordings, "
        f"'only' those to take"
    )
    found = read("ami", setup, audio=audio, microphone="Mix-Headset", only=("ES2004a",))
    assert summary(found) == [("ES2004a", 2)]


def test_a_folder_that_is_not_the_setup_of_ami_is_named(tmp_path):
    with pytest.raises(MissingFileError) as caught:
        read("ami", tmp_path, split="dev", microphone="Mix-Headset")
    assert str(caught.value) == (
        f"{tmp_path / 'lists' / 'dev.meetings.txt'}: no such file; layout 'ami' has "
        f"lists, only_words and uems of the AMI diarization setup in 'data'"
    )


@pytest.mark.parametrize(
    ("split", "place"),
    [
        ("dev", "audio"),
        ("test", "voxconverse_test_wav"),
        ("test", "voxconverse_test_wav/audio"),
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


def test_voxconverse_without_audio_says_where_it_was_looked_for(tmp_path):
    write_lines(tmp_path / "dev" / "abjxc.rttm", turn("abjxc"))
    with pytest.raises(MissingFileError) as caught:
        read("voxconverse", tmp_path, split="dev")
    assert str(caught.value) == (
        f"{tmp_path}: no audio files (.flac, .ogg, .sph, .wav) in this folder or in "
        f"voxconverse_dev_wav/audio, voxconverse_dev_wav, dev/audio, audio below it; "
        f"the setting 'audio' names their folder"
    )


def test_voxconverse_without_its_split_is_named(tmp_path):
    with pytest.raises(MissingFileError) as caught:
        read("voxconverse", tmp_path)
    assert str(caught.value) == (
        f"{tmp_path / 'test'}: no such folder; layout 'voxconverse' has RTTM in dev "
        f"and test"
    )


def test_dihard_has_flac_rttm_and_a_uem_of_each_recording(tmp_path):
    make_dihard(tmp_path)
    found = read("dihard", tmp_path)
    assert summary(found) == [("DH_DEV_0001", 1), ("DH_DEV_0002", 1)]
    assert [region.end for one in found for region in one.regions] == [0.9, 0.9]


def test_dihard_2_has_regions_of_all_beside_those_of_domains(tmp_path):
    data = make_dihard(tmp_path, "data/single_channel", each=False)
    lines = [f"DH_DEV_000{i} 1 0 0.8" for i in (1, 2)]
    write_lines(data / "uem" / "all.uem", *lines)
    write_lines(data / "uem" / "meeting.uem", lines[0])
    found = read("dihard", tmp_path)
    assert [len(one.regions) for one in found] == [1, 1]


def test_the_core_of_dihard_3_is_what_its_regions_list(tmp_path):
    data = make_dihard(tmp_path)
    core = data / "uem_scoring" / "core" / "all.uem"
    write_lines(core, "DH_DEV_0002 1 0 0.7")
    found = read("dihard", tmp_path, split="core")
    assert summary(found) == [("DH_DEV_0002", 1)]
    assert found[0].regions[0].end == 0.7


def test_dihard_names_the_folder_and_the_region_it_lacks(tmp_path):
    with pytest.raises(MissingFileError) as caught:
        read("dihard", tmp_path)
    assert str(caught.value) == (
        f"{tmp_path / 'data' / 'flac'}: no such folder; layout 'dihard' has data/flac, "
        f"data/rttm and data/uem"
    )
    data = make_dihard(tmp_path)
    write_lines(data / "uem" / "DH_DEV_0002.uem", "other 1 0 1")
    with pytest.raises(DataFormatError) as caught:
        read("dihard", tmp_path)
    assert str(caught.value) == (
        f"{data / 'uem'}: no region of 1 of 2 recordings: DH_DEV_0002; --set "
        f"uem=ignored scores without regions"
    )


def test_msdwild_has_an_rttm_of_each_split(tmp_path):
    make_msdwild(tmp_path)
    assert summary(read("msdwild", tmp_path)) == [("00001", 1), ("00002", 1)]
    assert summary(read("msdwild", tmp_path, split="many.val")) == [("00003", 1)]


def test_msdwild_may_have_an_rttm_of_each_clip(tmp_path):
    make_msdwild(tmp_path)
    for path in (tmp_path / "rttms").iterdir():
        path.unlink()
    write_lines(tmp_path / "rttms" / "00002.rttm", turn("00002", channel=0))
    assert summary(read("msdwild", tmp_path)) == [("00002", 1)]


def test_a_split_of_msdwild_that_is_not_there_is_named(tmp_path):
    make_msdwild(tmp_path)
    with pytest.raises(MissingFileError) as caught:
        read("msdwild", tmp_path, split="few.train")
    assert str(caught.value) == (
        f"{tmp_path / 'rttms' / 'few.train.rttm'}: no such file; 'split' names the RTTM"
    )


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


def test_a_data_directory_without_an_audio_file_is_an_error(tmp_path):
    write_lines(tmp_path / "wav.scp", "iaaa iaaa.wav")
    write_lines(tmp_path / "ref.rttm", turn("iaaa"))
    with pytest.raises(MissingFileError) as caught:
        read("callhome", tmp_path)
    assert str(caught.value) == (
        f"{tmp_path / 'wav.scp'}: no audio file 'iaaa.wav' for 'iaaa', neither in the "
        f"working directory nor in {tmp_path}"
    )


@pytest.mark.parametrize("audio", [".", "wav", "audio", "flac"])
@pytest.mark.parametrize("rttm", [".", "rttm"])
def test_a_folder_has_recordings_and_an_rttm_of_each(tmp_path, audio, rttm):
    for name in ("one", "two words"):
        write_audio(tmp_path / audio / f"{name}.wav")
        known = name.replace(" ", "_")
        write_lines(
            tmp_path / rttm / f"{name}.rttm", turn(known), turn(known, 0.3, "b")
        )
    write_lines(tmp_path / "notes.txt", "not audio")
    found = read("folder", tmp_path)
    assert summary(found) == [("one", 2), ("two_words", 2)]
    assert found[0].regions is None
    write_lines(tmp_path / "all.uem", "one 1 0 1", "two_words 1 0 0.5")
    assert read("folder", tmp_path)[1].regions[0].end == 0.5
    assert read("folder", tmp_path, use_uem=False)[1].regions is None


def test_simulated_meetings_are_a_data_directory_each(tmp_path):
    for name in ("toy-2-00", "toy-2-25"):
        write_audio(tmp_path / name / "audio" / "m.wav")
        write_lines(tmp_path / name / "wav.scp", f"{name}-0000 audio/m.wav")
        write_lines(tmp_path / name / "ref.rttm", turn(f"{name}-0000"))
    found = read("simulated", tmp_path)
    assert summary(found) == [("toy-2-00-0000", 1), ("toy-2-25-0000", 1)]
    assert summary(read("simulated", tmp_path, only=("toy-2-25-0000",))) == [
        ("toy-2-25-0000", 1)
    ]


def test_recordings_of_a_folder_without_turns_are_named(tmp_path):
    for name in ("a", "b", "c", "d", "e"):
        write_audio(tmp_path / f"{name}.wav")
    write_lines(tmp_path / "ref.rttm", turn("a"))
    with pytest.raises(DataFormatError) as caught:
        read("folder", tmp_path)
    assert str(caught.value) == (
        f"{tmp_path / 'ref.rttm'}: no turn of 4 of 5 recordings: b, c, d and 1 more"
    )


def test_a_folder_without_rttm_or_not_there_is_named(tmp_path):
    write_audio(tmp_path / "a.wav")
    with pytest.raises(MissingFileError) as caught:
        read("folder", tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: no ref.rttm and no other RTTM files in this folder or in rttm "
        f"below it"
    )
    with pytest.raises(MissingFileError) as caught:
        read("folder", tmp_path / "x")
    assert str(caught.value) == (
        f"{tmp_path / 'x'}: no such folder; layout 'folder' has recordings and RTTM"
    )


def test_two_files_of_one_recording_are_an_error(tmp_path):
    write_audio(tmp_path / "a.flac")
    write_audio(tmp_path / "a.wav")
    with pytest.raises(DataFormatError) as caught:
        read("folder", tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: two files of recording 'a': a.flac and a.wav"
    )


def test_only_names_recordings_that_are_there(tmp_path):
    write_audio(tmp_path / "a.wav")
    write_lines(tmp_path / "ref.rttm", turn("a"))
    with pytest.raises(ConfigError) as caught:
        read("folder", tmp_path, only=("z",))
    assert str(caught.value) == (
        f"'only' must name recordings of {tmp_path}, which has a; got z"
    )


def test_a_split_that_a_layout_does_not_have_is_refused():
    with pytest.raises(ConfigError) as caught:
        LAYOUTS["ami"].split("ami", "eval")
    assert str(caught.value) == (
        "'split' must be one of test, dev, train with layout 'ami', got 'eval'"
    )
    with pytest.raises(ConfigError) as caught:
        LAYOUTS["callhome"].split("callhome", "dev")
    assert str(caught.value) == (
        "'split' must be left empty with layout 'callhome', got 'dev'"
    )


def test_rules_are_those_of_the_field():
    assert {name: layout.rules for name, layout in LAYOUTS.items()} == {
        "folder": Rules(0.25, "scored", "used"),
        "ami": Rules(0.0, "scored", "used"),
        "voxconverse": Rules(0.25, "scored", "ignored"),
        "dihard": Rules(0.0, "scored", "used"),
        "callhome": Rules(0.25, "ignored", "ignored"),
        "msdwild": Rules(0.25, "scored", "ignored"),
        "simulated": Rules(0.25, "scored", "ignored"),
    }
