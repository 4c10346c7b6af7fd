"""Scores from paths and from values."""

import pytest

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.turns.files import read_annotation
from sms_diar.io.turns.uem import read_uem
from sms_diar.pipeline.score.api import score, score_labels, score_systems
from sms_diar.types import Segment, Turn

LINE = "SPEAKER {} 1 {} {} <NA> <NA> {} <NA> <NA>\n"


def turn(recording, start, end, speaker):
    return Turn(Segment(recording, start, end), speaker)


# r: A 0-6, B 6-10 found as one speaker; q: 0-10 found to 8, 10-12 false
REF = [turn("r", 0, 6, "A"), turn("r", 6, 10, "B"), turn("q", 0, 10, "C")]
HYP = [turn("r", 0, 10, "x"), turn("q", 0, 8, "y"), turn("q", 10, 12, "y")]


def write(path, turns):
    path.write_text(
        "".join(
            LINE.format(
                t.segment.recording, t.segment.start, t.segment.duration, t.speaker
            )
            for t in turns
        )
    )
    return path


@pytest.fixture
def files(tmp_path):
    return write(tmp_path / "ref.rttm", REF), write(tmp_path / "hyp.rttm", HYP)


def test_paths_and_values_give_the_same_figures(files):
    want = score(REF, HYP).overall
    assert want["der"] == 0.4  # 4 s of confusion, 2 missed, 2 false, of 20
    ref, hyp = files
    for reference in (ref, str(ref), [ref], read_annotation(ref), iter(REF)):
        assert score(reference, hyp).overall == want
    for hypothesis in ([str(hyp)], read_annotation(hyp), tuple(HYP), (t for t in HYP)):
        assert score(ref, hypothesis).overall == want


def test_a_uem_is_a_path_or_a_value(files, tmp_path):
    path = tmp_path / "x.uem"
    path.write_text("r 1 0 5\nq 1 0 11\n")
    for uem in (path, str(path), read_uem(path)):
        report = score(*files, uem=uem)
        assert report.overall["scored"] == 15.0
        assert f"-u {path}" in report.md_eval


def test_the_options_are_those_of_the_rules():
    assert score(REF, HYP, extent="reference").overall["false_alarm"] == 0.0
    assert score(REF, HYP, convention="nist").settings.convention.name == "nist"
    one, two = score(REF, HYP, collar=0.25), score(REF, HYP, collar_total=0.5)
    assert one.overall == two.overall != score(REF, HYP).overall
    both = [turn("r", 0, 10, "A"), turn("r", 5, 10, "B")]
    assert score(both, both, ignore_overlap=True).overall["scored"] == 5.0


def test_values_have_names_in_the_command_line_of_md_eval(files):
    assert score(*files).md_eval == (
        f"md-eval-22.pl -a f -c 0 -r {files[0]} -s {files[1]} "
        f"-u UEM_OF_THE_JOINT_EXTENT"
    )
    report = score(REF, HYP, extent="reference")
    assert report.md_eval == "md-eval-22.pl -a f -c 0 -r REF -s HYP"


def test_an_interval_needs_samples_and_two_recordings():
    assert score(REF, HYP).interval is None
    assert score(REF[:2], HYP[:1], bootstrap=20).interval is None
    found = score(REF, HYP, bootstrap=20, measure="jer", method="bca", level=0.9)
    assert found.interval.estimate == found.overall["jer"]
    assert (found.interval.method, found.interval.level) == ("bca", 0.9)
    assert list(found.to_dict()["intervals"]) == ["jer"]


def test_systems_are_compared_with_the_first(files):
    found = score_systems(REF, {"base": files[1], "true": REF}, bootstrap=100)
    assert found.systems["true"].overall["der"] == 0.0
    (compared,) = found.comparisons
    assert (compared.first, compared.second) == (0.0, 0.4)
    assert compared.p_value == 0.5  # two recordings: ++ and -- of four
    assert "-s HYP" in found.systems["base"].md_eval
    assert score_systems(REF, {"base": HYP, "true": REF}, bootstrap=0).comparisons == ()


def test_values_go_by_their_names_in_remarks():
    found = score_systems(REF, {"mine": [*HYP, turn("z", 0, 1, "x")]}, bootstrap=0)
    assert (
        "mine: warning: recording 'z' is not in the reference"
        in found.remarks[0].with_severity()
    )


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (5, "5"),
        (None, "None"),
        ([REF[0], "ref.rttm"], "'ref.rttm' at index 1"),
        (["ref.rttm", REF[0]], "Turn.* at index 1"),
        ([("r", 0, 1, "A")], ".* at index 0"),
        ({"u1": "a"}, "a mapping; use score_labels"),
    ],
)
def test_what_is_neither_path_nor_turns_is_refused(value, got):
    for name, arguments in (("reference", (value, HYP)), ("hypothesis", (REF, value))):
        problem = f"^score: {name} must be a path, .* got {got}"
        with pytest.raises(InvalidParameterError, match=problem):
            score(*arguments)


def test_a_reference_without_turns_is_refused(tmp_path):
    with pytest.raises(InvalidParameterError, match="reference must hold turns"):
        score([], HYP)
    path = write(tmp_path / "empty.rttm", [])
    with pytest.raises(DataFormatError, match="has no turns to score against"):
        score(path, HYP)


def test_a_table_of_labels_is_no_reference_of_turns(tmp_path):
    path = tmp_path / "utt2spk"
    path.write_text("u1 a\n")
    with pytest.raises(InvalidParameterError, match="use score_labels"):
        score(path, HYP)


@pytest.mark.parametrize(
    ("parameter", "options"),
    [
        ("collar_total", {"collar": 0.25, "collar_total": 0.5}),
        ("collar_total", {"collar_total": -1}),
        ("collar_total", {"collar_total": 1e308}),
        ("collar", {"collar": 1e9}),
        ("collar", {"collar": float("nan")}),
        ("seed", {"seed": -1}),
        ("bootstrap", {"bootstrap": 10**12}),
        ("bootstrap", {"bootstrap": -1}),
        ("level", {"bootstrap": 10, "level": float("nan")}),
        ("uem", {"uem": 5}),
        ("method", {"method": "t"}),
        ("measure", {"measure": "wer"}),
    ],
)
def test_wrong_options_are_refused(parameter, options):
    with pytest.raises(InvalidParameterError, match=rf"^\w+: {parameter} must be "):
        score(REF, HYP, **options)


@pytest.mark.parametrize("convention", ["sms-diar", "nist", "dscore", "pyannote"])
def test_the_longest_collar_leaves_nothing_to_score(convention):
    turns = [turn("r", 0, 100, "A")]
    report = score(turns, turns, convention=convention, collar=1e6)
    assert report.overall["scored"] == 0.0


@pytest.mark.parametrize("hypotheses", [{}, ["hyp.rttm"], "hyp.rttm"])
def test_systems_need_names(hypotheses):
    with pytest.raises(InvalidParameterError, match="hypotheses must map names"):
        score_systems(REF, hypotheses)


def test_labels_from_paths_and_from_values(tmp_path):
    truth = {"u1": "a", "u2": "a", "u3": "b", "u4": "b"}
    labels = {"u1": "1", "u2": "1", "u3": "1", "u5": "2"}
    for name, table in (("utt2spk", truth), ("found.txt", labels)):
        lines = (f"{key} {value}\n" for key, value in table.items())
        (tmp_path / name).write_text("".join(lines))
    paths = tmp_path / "utt2spk", str(tmp_path / "found.txt")
    report = score_labels(truth, labels)
    # u1-u3: one cluster of a, a, b: ACP 4/9 + 1/9
    assert report.figures["acp"] == pytest.approx(5 / 9)
    assert score_labels(*paths).figures == report.figures
    assert [problem.path for problem in report.problems] == ["hypothesis", "reference"]
    for problem, missing in zip(report.problems, ("u4", "u5"), strict=True):
        assert problem.text.startswith(
            f"1 of 4 ids are missing, the first is {missing!r}"
        )
    assert [problem.path for problem in score_labels(*paths).problems] == [
        paths[1],
        str(paths[0]),
    ]


@pytest.mark.parametrize("value", [5, [("u1", "a")]])
def test_what_is_neither_path_nor_labels_is_refused(value):
    with pytest.raises(InvalidParameterError, match="hypothesis must be a path or a"):
        score_labels({"u1": "a"}, value)


def test_single_recordings_of_other_names_are_one_recording_with_a_warning():
    other = [turn("talk", 0, 10, "x")]
    report = score(REF[:2], other)
    assert (report.overall["der"], list(report.recordings)) == (0.4, ["r"])
    [remark] = report.remarks
    assert (remark.kind, remark.severity) == ("only recording", "warning")


def test_a_file_without_a_name_of_its_recording_is_matched_with_a_note(tmp_path):
    path = tmp_path / "talk.txt"
    path.write_text("0.0\t10.0\tx\n")
    report = score(REF[:2], path)
    assert report.overall["der"] == 0.4
    assert [(r.kind, r.severity) for r in report.remarks] == [
        ("only recording", "note")
    ]


@pytest.mark.parametrize("name", ["{}.wav", "data/{}", "{}_ch1"])
def test_names_that_differ_by_an_end_are_suggested(name):
    renamed = [
        turn(name.format(t.segment.recording), t.segment.start, t.segment.end, "x")
        for t in REF
    ]
    q, r = name.format("q"), name.format("r")
    text = f"did you mean 'r' for {r!r}, 'q' for {q!r}?"
    assert str(score(REF, renamed).remarks[0]).endswith(text)
    some = score(REF, [*renamed, *REF[:2]]).remarks[0]
    assert some.kind == "similar names"
    assert str(some).endswith(f"did you mean 'q' for {q!r}?")


def test_other_names_are_not_suggested():
    other = [turn("r2", 0, 6, "A"), turn("qq", 0, 6, "A")]
    assert all("did you mean" not in str(one) for one in score(REF, other).remarks)


def test_rttm_with_a_channel_of_letters_is_not_stm(tmp_path):
    path = tmp_path / "ref.txt"
    path.write_text("SPEAKER r A 0.0 6.0 <NA> <NA> x <NA> <NA>\n")
    assert score(path, HYP).overall["scored"] == 6.0
