"""Scores of transcripts, from files and values."""

import json
import sys

import pytest

from sms_diar import score_words
from sms_diar.errors import InvalidParameterError
from sms_diar.io.transcripts.files import write_transcript
from sms_diar.metrics.words import WordRate
from sms_diar.timeline.transcript import Phrase, Transcript, words_of_text


def said(*lines):
    """Make a transcript of lines ``recording speaker word ...``, 2 s each."""
    phrases = []
    for i, line in enumerate(lines):
        recording, speaker, text = line.split(maxsplit=2)
        words = words_of_text(text, 2.0 * i, 2.0 * i + 2.0)
        phrases.append(Phrase(recording, 2.0 * i, 2.0 * i + 2.0, speaker, words))
    return Transcript(tuple(phrases))


REF = said("m A Good morning!", "m B hello there", "n A how are you", "n B fine")
# m: "hello" is missing, "there" is said by 1 instead of 2: WDER 1 of 3 aligned words.
# n: all right: WDER 0 of 4. Pooled 1 of 7.
HYP = said("m 1 good morning", "m 1 there", "n 1 how are you", "n 2 fine")


def test_wder_is_pooled_over_recordings():
    report = score_words(REF, HYP)
    scores = report.systems["hypothesis"]
    assert scores.recordings["m"]["wder"] == WordRate(1, 3)
    assert scores.recordings["n"]["wder"] == WordRate(0, 4)
    assert report.overall["wder"] == WordRate(1, 7)


def test_all_words_are_deleted_by_a_system_without_words(tmp_path):
    pytest.importorskip("meeteval")
    (tmp_path / "empty.json").write_text("[]")
    report = score_words(REF, tmp_path / "empty.json")
    assert report.overall["cpwer"] == WordRate(8, 8, 0, 0, 8)
    assert report.overall["wder"].rate is None


def test_rates_of_meeteval_by_hand():
    pytest.importorskip("meeteval")
    report = score_words(REF, HYP)
    # WER: one deletion in 8 words. cpWER: A-1 inserts "there", and the two words of B
    # are deleted in m, where B has no partner: 3 errors. n is perfect.
    assert report.overall["wer"] == WordRate(1, 8, 0, 0, 1)
    assert report.overall["cpwer"] == WordRate(3, 8, 0, 1, 2)
    # Segments of the hypothesis may go to any speaker: only "hello" is wrong.
    assert report.overall["dicpwer"] == WordRate(1, 8, 0, 0, 1)
    assert not report.remarks


def test_words_apart_by_more_than_the_collar_do_not_match():
    pytest.importorskip("meeteval")
    ref = [Phrase("m", 0.0, 2.0, "A", words_of_text("good morning", 0.0, 2.0))]
    hyp = [Phrase("m", 7.0, 9.0, "1", words_of_text("good morning", 7.0, 9.0))]
    # Each word is 7 s late. Then two words are deleted and two inserted.
    assert score_words(ref, hyp, collar=8.0).overall["tcpwer"].errors == 0
    assert score_words(ref, hyp).overall["tcpwer"] == WordRate(4, 2, 0, 2, 2)


def test_files_lists_and_values_give_the_same_report(tmp_path):
    paths = {}
    for name, words in {"ref": REF, "hyp": HYP, "m": HYP[:2], "n": HYP[2:]}.items():
        paths[name] = tmp_path / f"{name}.json"
        write_transcript(paths[name], words)
    expected = score_words(REF, HYP).to_dict()
    for hypothesis in (paths["hyp"], [paths["m"], paths["n"]], list(HYP)):
        assert score_words(paths["ref"], hypothesis).to_dict() == expected


def test_json_lists_wrong_words_and_speakers():
    record = json.loads(json.dumps(score_words(REF, HYP).to_dict()))
    missed, confused = record["errors"]
    assert (missed["kind"], missed["reference"]["text"]) == ("deletion", "hello")
    assert (confused["kind"], confused["hypothesis"]["speaker"]) == ("speaker", "1")
    assert record["recordings"]["m"]["speakers"]["B"] == {
        "hypothesis": None,
        "words": 2,
        "substitutions": 0,
        "insertions": 0,
        "deletions": 1,
        "wrong_speaker": 1,
    }
    assert record["settings"]["normalise"] == "simple"


def test_normalisation_is_a_setting_that_is_printed():
    # "Good" and "morning!" are substituted as they are written.
    plain = score_words(REF, HYP, normalise="none")
    kinds = [error.kind for error in plain.systems["hypothesis"].errors()]
    assert kinds.count("substitution") == 2
    assert "as they are written" in str(plain)
    assert "lower case" in str(score_words(REF, HYP))


def test_recordings_of_one_side_count_and_are_reported():
    report = score_words(REF, said("m 1 good morning hello there", "x 1 what"))
    rates = report.systems["hypothesis"].recordings
    assert list(rates) == ["m", "n", "x"]
    assert rates["n"]["wder"] == rates["x"]["wder"] == WordRate(0, 0)
    kinds = [error.kind for error in report.systems["hypothesis"].errors()]
    assert (kinds.count("deletion"), kinds.count("insertion")) == (4, 1)
    assert [remark.kind for remark in report.remarks if "not in" in remark.kind] == [
        "not in the hypothesis",
        "not in the reference",
    ]


def test_the_only_recordings_are_the_same():
    report = score_words(REF[:2], said("other 1 good morning", "other 2 hello there"))
    assert report.overall["wder"] == WordRate(0, 4)
    assert "only recording" in [remark.kind for remark in report.remarks]


def test_systems_are_compared_with_the_first():
    report = score_words(REF, {"base": HYP, "good": REF}, measure="wder", bootstrap=100)
    (comparison,) = report.comparisons
    # The difference is 0 - 1/7. Exchanging n changes nothing and exchanging m only the
    # sign, so all four arrangements are as far from 0.
    assert comparison.difference.estimate == pytest.approx(-1 / 7)
    assert comparison.p_value == 1.0
    assert (comparison.first, comparison.second) == (0.0, pytest.approx(1 / 7))
    assert report.to_dict()["comparisons"][0]["system"] == "good"
    assert "good" in str(report)


def test_interval_contains_the_rate():
    report = score_words(REF, HYP, measure="wder", bootstrap=200)
    # Samples are mm, mn, nn: 2 of 6, 1 of 7, 0 of 8.
    assert report.interval.low == 0.0
    assert report.interval.estimate == pytest.approx(1 / 7)
    assert report.interval.high == pytest.approx(1 / 3)
    assert "95 % interval" in str(report)


def test_a_single_recording_has_no_interval():
    report = score_words(REF[:2], HYP[:2], measure="wder", bootstrap=100)
    assert report.interval is None
    assert "no intervals" in str(report)


def test_without_meeteval_wder_remains(monkeypatch):
    monkeypatch.setitem(sys.modules, "meeteval", None)
    report = score_words(REF, HYP, bootstrap=100)
    assert set(report.overall) == {"wder"}
    (remark,) = report.remarks
    assert (remark.kind, remark.severity) == ("extra", "warning")
    assert "sms-diar[words]" in remark.text
    assert "cpwer" in report.reason


def test_many_speakers_are_reported():
    pytest.importorskip("meeteval")
    crowd = said(*(f"m s{i} word{i}" for i in range(21)))
    report = score_words(crowd, crowd)
    assert set(report.overall) == {"wer", "wder"}
    assert [remark.kind for remark in report.remarks] == ["many speakers"]


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"reference": []}, "reference"),
        ({"reference": [3]}, "reference"),
        ({"normalise": "upper"}, "normalise"),
        ({"measure": "der"}, "measure"),
        ({"collar": -1.0}, "collar"),
        ({"bootstrap": -1}, "bootstrap"),
        ({"method": "exact"}, "method"),
        ({"hypothesis": {}}, "hypothesis"),
    ],
)
def test_invalid_parameters_are_named(options, parameter):
    with pytest.raises(InvalidParameterError) as error:
        score_words(**{"reference": REF, "hypothesis": HYP, **options})
    assert error.value.parameter == parameter
