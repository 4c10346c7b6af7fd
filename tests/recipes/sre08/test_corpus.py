"""Keys and files of NIST SRE 2008: parsing, selection, everything that may lack."""

import numpy as np
import pytest

from recipes.sre08.corpus import MODEL_KEY, TRIAL_KEY, collect_corpus, find_sphere
from recipes.sre08.keys import (
    Model,
    Side,
    Trial,
    read_model_key,
    read_trial_key,
    select_sides,
)
from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError

MODEL_HEADER = "model,gender,segment,speaker\n"
TRIAL_HEADER = "model,segment,channel,key,c1,c2,c3,c4,c5,c6,c7,c8\n"

MODELS = (
    "1001,m,taaa:a,500\n"
    "1002,m,tbbb:b,501\n"
    "1003,f,tccc:a,502\n"
    "1004,m,tddd:a,500\n"  # a second model of speaker 500
)
C7 = "N,N,N,N,N,Y,Y,N"
C8 = "N,N,N,N,N,Y,Y,Y"
C6 = "N,N,N,N,N,Y,N,N"
TRIALS = (
    f"1001,xaaa,a,target,{C7}\n"
    f"1001,xbbb,b,nontarget,{C7}\n"
    f"1002,xbbb,b,target,{C8}\n"
    f"1003,xccc,a,target,{C7}\n"
    f"1004,xddd,b,target,{C6}\n"
)
SIDES = ("taaa", "tbbb", "xaaa", "xbbb")  # condition 7, male


def write_sphere(path, n_channels=2, n_samples=800, coding="ulaw", claimed=None):
    width = 1 if coding.startswith("ulaw") else 2
    head = (
        f"NIST_1A\n   1024\nsample_count -i {claimed or n_samples}\n"
        f"sample_rate -i 8000\nchannel_count -i {n_channels}\n"
        f"sample_n_bytes -i {width}\nsample_coding -s{len(coding)} {coding}\n"
        f"sample_byte_format -s{width} {'1' if width == 1 else '01'}\nend_head\n"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = np.zeros(width * n_channels * n_samples, np.uint8)
    path.write_bytes(head.encode().ljust(1024) + samples.tobytes())


@pytest.fixture
def tree(tmp_path):
    """Two corpora in the layout of LDC, silent."""
    training, test = tmp_path / "LDC2011S05", tmp_path / "LDC2011S08"
    for name in ("taaa", "tbbb", "tccc", "tddd"):
        write_sphere(training / "data" / "train" / "data" / "short2" / f"{name}.sph")
    for name in ("xaaa", "xbbb", "xccc", "xddd"):
        write_sphere(test / "data" / "test" / "data" / "short3" / f"{name}.sph")
    keys = test / "data" / "keys" / "NIST_SRE08_KEYS.v0.1"
    for folder, name, text in (
        ("model-keys", MODEL_KEY, MODEL_HEADER + MODELS),
        ("trial-keys", TRIAL_KEY, TRIAL_HEADER + TRIALS),
    ):
        (keys / folder).mkdir(parents=True)
        (keys / folder / name).write_text(text)
    return [training, test]


def lines_of(error):
    return str(error.value).split("\n  - ")[1:]


def test_a_model_has_an_id_a_gender_a_side_and_a_speaker(tmp_path):
    path = tmp_path / "key"
    lines = "1001,m,taaa:a,500\n1002,f,tbbb.sph:B,501,ENG\n1003,m,ta:a tb:b,502\n"
    path.write_text(MODEL_HEADER + lines)
    assert read_model_key(path) == {
        "1001": Model("1001", "m", (Side("taaa", 1),), "500"),
        "1002": Model("1002", "f", (Side("tbbb", 2),), "501"),
        "1003": Model("1003", "m", (Side("ta", 1), Side("tb", 2)), "502"),
    }


def test_fields_may_be_separated_by_blanks_and_the_header_may_lack(tmp_path):
    path = tmp_path / "key"
    path.write_text("1001 m taaa:a 500\n\n# comment\n1002 m tbbb:b 501\r\n")
    assert [model.speaker for model in read_model_key(path).values()] == ["500", "501"]
    path.write_text("1001 xaaa a target N N N N N Y Y N\n")
    assert list(read_trial_key(path)) == [
        Trial("1001", Side("xaaa", 1), True, frozenset({6, 7}))
    ]


@pytest.mark.parametrize(
    ("reader", "line", "named"),
    [
        (read_model_key, "1001,m,500", "3 fields"),
        (read_model_key, "1001,x,taaa:a,500", "gender .* 'x'"),
        (read_model_key, "1001,m,taaa:x,500", "channel .* 'x'"),
        (read_trial_key, "1001,xaaa,a,target,Y,N", "12 fields .* got 6"),
        (read_trial_key, f"1001,xaaa,a,perhaps,{C7}", "target .* 'perhaps'"),
        (read_trial_key, "1001,xaaa,a,target,N,N,N,N,N,Y,1,N", "condition .* '1'"),
    ],
)
def test_a_broken_line_is_named(tmp_path, reader, line, named):
    path = tmp_path / "key"
    good = "1001,m,taaa:a,500" if reader is read_model_key else f"1,x,a,target,{C7}"
    path.write_text(f"{good}\n{line}\n")
    with pytest.raises(DataFormatError, match=named) as caught:
        list(reader(path))
    assert (caught.value.path, caught.value.line) == (path, 2)


def keys(tmp_path):
    for name, text in (("models", MODELS), ("trials", TRIALS)):
        (tmp_path / name).write_text(text)
    trials = list(read_trial_key(tmp_path / "trials"))
    return read_model_key(tmp_path / "models"), trials


def test_sides_are_those_of_the_condition_and_gender(tmp_path):
    # Model 1003 is female and 1004 only in condition 6. xbbb is the voice of 501,
    # by the target trial of 1002, whatever 1001 was asked about it.
    selection = select_sides(*keys(tmp_path))
    assert selection.speakers == {
        Side("taaa", 1): "500",
        Side("tbbb", 2): "501",
        Side("xaaa", 1): "500",
        Side("xbbb", 2): "501",
    }
    assert selection.genders == {"500": "m", "501": "m"}


@pytest.mark.parametrize(
    ("settings", "segments"),
    [
        ({"sides": "training"}, ["taaa", "tbbb"]),
        ({"sides": "test"}, ["xaaa", "xbbb"]),
        ({"gender": "f"}, ["tccc", "xccc"]),
        ({"condition": 8}, ["tbbb", "xbbb"]),
        ({"condition": 6, "sides": "test"}, ["xaaa", "xbbb", "xddd"]),
        ({"condition": 1}, []),
    ],
)
def test_other_conditions_genders_and_sides(tmp_path, settings, segments):
    found = select_sides(*keys(tmp_path), **settings)
    assert [side.segment for side in found.speakers] == segments


def test_a_side_with_two_speakers_is_refused(tmp_path):
    models, trials = keys(tmp_path)
    wrong = Trial("1002", Side("xaaa", 1), True, frozenset({7}))
    with pytest.raises(InvalidParameterError, match="'500' and '501' for xaaa_A"):
        select_sides(models, [*trials, wrong])


def test_the_tree_gives_sides_files_and_durations(tree):
    corpus = collect_corpus(tree)
    assert [side.segment for side in corpus.audio] == list(SIDES)
    assert {path.stem for path in corpus.audio.values()} == set(SIDES)
    assert set(corpus.durations.values()) == {0.1}  # 800 samples at 8 kHz
    assert corpus.missing == ()


def test_keys_may_be_in_a_folder_of_their_own(tree, tmp_path):
    inside = tree[1] / "data" / "keys"
    inside.rename(tmp_path / "nist")
    assert len(collect_corpus(tree, keys=tmp_path / "nist").audio) == 4


def test_the_first_folder_wins_where_a_file_is_twice(tree, tmp_path):
    write_sphere(tmp_path / "unpacked" / "taaa.SPH", n_samples=1600)
    files = find_sphere([tmp_path / "unpacked", *tree])
    assert files["taaa"] == tmp_path / "unpacked" / "taaa.SPH"
    assert len(files) == 8


def test_everything_that_is_missing_is_said_at_once(tree, tmp_path):
    data = tree[0] / "data" / "train" / "data" / "short2"
    (data / "taaa.sph").unlink()
    write_sphere(data / "tbbb.sph", coding="ulaw,embedded-shorten-v2.00")
    short3 = tree[1] / "data" / "test" / "data" / "short3"
    write_sphere(short3 / "xbbb.sph", n_channels=1)
    key = next(tree[1].rglob(TRIAL_KEY))
    key.write_text(key.read_text() + f"9999,xaaa,a,nontarget,{C7}\n")
    with pytest.raises(MissingFileError) as caught:
        collect_corpus([*tree, tmp_path / "LDC2011S07"])
    folder, models, files, sides = lines_of(caught)
    assert folder == f"folder {tmp_path / 'LDC2011S07'}"
    assert models == f"1 models in {next(tree[1].rglob(MODEL_KEY))}: 9999"
    assert files == "1 of 4 SPHERE files: taaa.sph"
    assert sides.startswith("2 of 4 sides cannot be read: tbbb_B, xbbb_B; ")
    assert f"{data / 'tbbb.sph'}: the compressed samples begin with" in sides


def test_keys_and_audio_that_are_missing_are_said_together(tmp_path):
    with pytest.raises(MissingFileError) as caught:
        collect_corpus([tmp_path])
    pieces = [line.split(",")[0] for line in lines_of(caught)]
    assert pieces == [TRIAL_KEY, MODEL_KEY, "SPHERE files (*.sph)"]


def test_missing_audio_can_be_put_up_with_but_not_missing_keys(tree):
    (tree[0] / "data" / "train" / "data" / "short2" / "tbbb.sph").unlink()
    (tree[1] / "data" / "test" / "data" / "short3" / "xbbb.sph").unlink()
    corpus = collect_corpus(tree, allow_missing=True)
    assert [side.id for side in corpus.audio] == ["taaa_A", "xaaa_A"]
    assert corpus.selection.genders == {"500": "m"}  # 501 has no side left
    assert corpus.missing == ("2 of 4 SPHERE files: tbbb.sph, xbbb.sph",)
    next(tree[1].rglob(MODEL_KEY)).unlink()
    with pytest.raises(MissingFileError, match=MODEL_KEY):
        collect_corpus(tree, allow_missing=True)


def test_a_condition_without_trials_is_named(tree):
    with pytest.raises(DataFormatError, match="condition 1") as caught:
        collect_corpus(tree, condition=1)
    assert caught.value.path == next(tree[1].rglob(TRIAL_KEY))
