"""Keys and files of NIST evaluations: parsing, selection, everything that may lack."""

import pytest

from recipes._common.nist import (
    EVALUATIONS,
    Model,
    Side,
    Trial,
    chosen_trials,
    read_models,
    read_trial_key,
    select_sides,
    trial_figures,
)
from recipes._common.sides import collect_corpus, find_audio, list_files, locate
from sms_diar.errors import (
    ConfigError,
    DataFormatError,
    InvalidParameterError,
    MissingFileError,
)
from sms_diar.metrics.verification import DetectionCost

SRE08 = EVALUATIONS[2008]
TRIAL_KEY, MODEL_KEY = SRE08.trial_key, SRE08.models
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


@pytest.fixture
def tree(tmp_path, write_silence):
    """Two corpora in the layout of LDC, silent."""
    training, test = tmp_path / "LDC2011S05", tmp_path / "LDC2011S08"
    for name in ("taaa", "tbbb", "tccc", "tddd"):
        write_silence(training / "data" / "train" / "data" / "short2" / f"{name}.sph")
    for name in ("xaaa", "xbbb", "xccc", "xddd"):
        write_silence(test / "data" / "test" / "data" / "short3" / f"{name}.sph")
    keys = test / "data" / "keys" / "NIST_SRE08_KEYS.v0.1"
    for folder, name, text in (
        ("model-keys", MODEL_KEY, MODEL_HEADER + MODELS),
        ("trial-keys", TRIAL_KEY, TRIAL_HEADER + TRIALS),
    ):
        (keys / folder).mkdir(parents=True)
        (keys / folder / name).write_text(text)
    return [training, test]


def read_model_key(path):
    return read_models([path], SRE08)


def read_trials(path):
    return list(read_trial_key(path, SRE08))


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
    assert read_trials(path) == [
        Trial("1001", Side("xaaa", 1), True, frozenset({6, 7}))
    ]


@pytest.mark.parametrize(
    ("reader", "line", "named"),
    [
        (read_model_key, "1001,m,500", "3 fields"),
        (read_model_key, "1001,x,taaa:a,500", "gender .* 'x'"),
        (read_model_key, "1001,m,taaa:x,500", "channel .* 'x'"),
        (read_trials, "1001,xaaa,a,target,Y,N", "12 fields .* got 6"),
        (read_trials, f"1001,xaaa,a,perhaps,{C7}", "target .* 'perhaps'"),
        (read_trials, "1001,xaaa,a,target,N,N,N,N,N,Y,1,N", "condition .* '1'"),
    ],
)
def test_a_broken_line_is_named(tmp_path, reader, line, named):
    path = tmp_path / "key"
    good = "1001,m,taaa:a,500" if reader is read_model_key else f"1,x,a,target,{C7}"
    path.write_text(f"{good}\n{line}\n")
    with pytest.raises(DataFormatError, match=named) as caught:
        reader(path)
    assert (caught.value.path, caught.value.line) == (path, 2)


def selected(tmp_path, sides="both", extra=(), **options):
    for name, text in (("models", MODELS), ("trials", TRIALS)):
        (tmp_path / name).write_text(text)
    models = read_model_key(tmp_path / "models")
    trials = [*read_trials(tmp_path / "trials"), *extra]
    chosen = chosen_trials(trials, models, SRE08, **options)
    return select_sides(models, chosen, sides=sides)


def test_sides_are_those_of_the_condition_and_gender(tmp_path):
    # Model 1003 is female and 1004 only in condition 6. xbbb is the voice of 501,
    # by the target trial of 1002, whatever 1001 was asked about it.
    selection = selected(tmp_path)
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
        ({"gender": "all", "sides": "test"}, ["xaaa", "xbbb", "xccc"]),
        ({"condition": 8}, ["tbbb", "xbbb"]),
        ({"condition": 6, "sides": "test"}, ["xaaa", "xbbb", "xddd"]),
        ({"condition": 1}, []),
    ],
)
def test_other_conditions_genders_and_sides(tmp_path, settings, segments):
    found = selected(tmp_path, **settings)
    assert [side.segment for side in found.speakers] == segments


def test_a_side_with_two_speakers_is_refused(tmp_path):
    wrong = Trial("1002", Side("xaaa", 1), True, frozenset({7}))
    with pytest.raises(InvalidParameterError, match="'500' and '501' for xaaa_A"):
        selected(tmp_path, extra=[wrong])


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


def test_the_first_folder_wins_where_a_file_is_twice(tree, tmp_path, write_silence):
    write_silence(tmp_path / "unpacked" / "taaa.SPH", n_samples=1600)
    audio = find_audio(list_files([tmp_path / "unpacked", *tree]))
    assert len(audio) == 8
    side = Side("taaa", 1)
    assert locate([side], audio)[side] == tmp_path / "unpacked" / "taaa.SPH"
    # But a path in the key that ends like one of the files selects that file.
    hint = {side: "/sp08/short2/taaa.sph"}
    assert locate([side], audio, hint)[side].parent.name == "short2"


def test_everything_that_is_missing_is_said_at_once(tree, tmp_path, write_silence):
    data = tree[0] / "data" / "train" / "data" / "short2"
    (data / "taaa.sph").unlink()
    write_silence(data / "tbbb.sph", coding="ulaw,embedded-shorten-v2.00")
    short3 = tree[1] / "data" / "test" / "data" / "short3"
    write_silence(short3 / "xbbb.sph", n_channels=1)
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


def write_table(path, *rows):
    path.write_text("".join("\t".join(row.split()) + "\n" for row in rows))


@pytest.fixture
def tree19(tmp_path, write_silence):
    """Two speakers; the second has a model of one side and a model of three."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("e1", "e2", "e3", "e4", "p1", "p2", "p3"):
        write_silence(tmp_path / "data" / f"{name}_sre19.sph", n_channels=1)
    write_table(
        docs / EVALUATIONS[2019].models,
        "modelid segmentid side",
        "m1 e1_sre19.sph a",
        "m2 e2_sre19.sph a",
        *(f"m3 e{i}_sre19.sph a" for i in (2, 3, 4)),
    )
    write_table(
        docs / EVALUATIONS[2019].trial_key,
        "modelid segmentid side targettype num_enroll_segs gender test_set",
        "m1 p1_sre19.sph a target 1 female eval",
        "m2 p1_sre19.sph a nontarget 1 female eval",
        "m2 p2_sre19.sph a target 1 male eval",
        "m3 p2_sre19.sph a target 3 male eval",
        "m3 p3_sre19.sph a target 3 male prog",
    )
    return tmp_path


def test_models_of_several_sides_that_share_one_are_one_speaker(tree19):
    corpus = collect_corpus([tree19], year=2019, with_trials=True)
    assert [side.segment for side in corpus.models["m3"].sides] == [
        f"e{i}_sre19" for i in (2, 3, 4)
    ]
    speakers = {side.id: name for side, name in corpus.selection.speakers.items()}
    assert speakers == {
        "e1_sre19_A": "m1",
        "p1_sre19_A": "m1",
        **dict.fromkeys(["e2_sre19_A", "e3_sre19_A", "e4_sre19_A"], "m2"),
        "p2_sre19_A": "m2",
    }
    assert corpus.selection.genders == {"m1": "f", "m2": "m"}
    assert len(corpus.trials) == 4  # the fifth is of the progress set


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"where": ("test_set=prog",)}, 1),
        ({"where": ("num_enroll_segs=3",)}, 2),
        ({"gender": "m"}, 2),
    ],
)
def test_columns_of_a_table_select_trials(tree19, options, count):
    corpus = collect_corpus([tree19], year=2019, with_trials=True, **options)
    assert len(corpus.trials) == count


@pytest.mark.parametrize(
    ("options", "error", "named"),
    [
        ({"where": ("accent=x",)}, ConfigError, "'accent'"),
        ({"where": ("eval",)}, ConfigError, "column=value"),
        ({"condition": 5}, InvalidParameterError, "must be 0"),
        ({"gender": "male"}, InvalidParameterError, "'male'"),
    ],
)
def test_a_selection_that_a_table_does_not_have_is_named(tree19, options, error, named):
    with pytest.raises(error, match=named):
        collect_corpus([tree19], year=2019, **options)


def test_a_table_without_names_or_with_short_lines_is_refused(tmp_path):
    layout, path = EVALUATIONS[2018], tmp_path / "key.tsv"
    write_table(path, "m1 x.sph a target")
    with pytest.raises(DataFormatError, match="modelid, segmentid") as caught:
        list(read_trial_key(path, layout))
    assert caught.value.line == 1
    write_table(path, "modelid segmentid side targettype", "m1 x.sph a")
    with pytest.raises(DataFormatError, match="4 fields, got 3") as caught:
        list(read_trial_key(path, layout))
    assert caught.value.line == 2


def test_trials_that_are_not_scored_or_have_no_speaker_are_left_out(
    tmp_path, write_silence
):
    # 2010: a column says whether a trial is scored, another file who a model is.
    layout, flags = EVALUATIONS[2010], "N,N,N,N,Y,N,N,N,N"
    for name in ("ta", "tb", "xa", "xb"):
        write_silence(tmp_path / "data" / f"{name}.sph")
    (tmp_path / "v.coreext.trn").write_text("1 m data/ta.sph:A\n2 f data/tb.sph:B\n")
    (tmp_path / "coreext.modelkey.csv").write_text("m,s\n1,500\n2,NOT_SCORED\n")
    (tmp_path / "coreext-coreext.trialkey.csv").write_text(
        f"model,segment,channel,key,scored,c\n1,xa,a,target,Y,{flags}\n"
        f"1,xb,b,nontarget,Y,{flags}\n1,xb,a,nontarget,N,{flags}\n"
        f"2,xb,a,target,Y,{flags}\n"
    )
    corpus = collect_corpus([tmp_path], year=2010, with_trials=True)
    assert [(t.side.id, t.is_target) for t in corpus.trials] == [
        ("xa_A", True),
        ("xb_B", False),
    ]
    assert dict(corpus.selection.speakers) == {
        Side("ta", 1): "500",
        Side("xa", 1): "500",
    }
    assert len(list(read_trial_key(next(tmp_path.glob("*trialkey*")), layout))) == 3


def test_only_the_telephone_trials_of_2021_are_taken(tmp_path, write_silence):
    layout = EVALUATIONS[2021]
    for name in ("ea", "xa"):
        write_silence(tmp_path / f"{name}.sph", n_channels=1)
    rows = ("m1 ea.sph a", "m2 eb.flac a")
    write_table(tmp_path / layout.models, "modelid segmentid side", *rows)
    write_table(
        tmp_path / layout.trial_key,
        "modelid segmentid side targettype",
        "m1 xa.sph a target",
        "m1 xb.flac a target",
        "m2 xa.sph a nontarget",
    )
    corpus = collect_corpus([tmp_path], year=2021, with_trials=True)
    assert [(t.model, t.side.segment) for t in corpus.trials] == [("m1", "xa")]


def test_costs_are_divided_by_the_better_constant_decision():
    # Targets 1, 3, nontargets 0, 2. At threshold 3 half of the targets are missed and
    # there is no false alarm: 0.1 * 0.5 / 0.1 = 0.5; rejecting all costs 1. With a
    # prior of 0.9, half of the nontargets are accepted at threshold 1:
    # 0.1 * 0.5 / 0.1 = 0.5.
    cost = DetectionCost((0.1, 0.9))
    figures = trial_figures([1.0, 3.0, 0.0, 2.0], [True, True, False, False], cost)
    assert figures["eer"] == 0.5
    assert figures["min_dcf"] == pytest.approx([0.5, 0.5])
    assert figures["min_cost"] == pytest.approx(0.5)
