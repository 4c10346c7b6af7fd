"""Rules of scoring, one by one, with the arithmetic."""

import tracemalloc

import numpy as np
import pytest

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.metrics import CONVENTIONS, score_diarization
from sms_diar.metrics.diarization import axis as axis_module
from sms_diar.metrics.diarization.evaluation import error_intervals
from sms_diar.timeline.annotation import AnnotationBuilder
from sms_diar.timeline.regions import Uem
from sms_diar.timeline.ticks import TICKS_PER_SECOND, ticks_of

OURS, NIST, DSCORE, PYANNOTE = "sms-diar", "nist", "dscore", "pyannote"


def annotation(*turns, recording="r", channel="1"):
    """Turns from (start, end, speaker), or (recording, start, end, speaker)."""
    builder = AnnotationBuilder()
    for line, turn in enumerate(turns, start=1):
        name, start, end, speaker = turn if len(turn) == 4 else (recording, *turn)
        builder.add(name, channel, speaker, ticks_of(start), ticks_of(end), line)
    builder.close_file("turns")
    return builder.annotation()


def regions(*rows, recording="r"):
    named = [row if len(row) == 3 else (recording, *row) for row in rows]
    return Uem(
        tuple(row[0] for row in named),
        ("1",) * len(named),
        np.array([ticks_of(row[1]) for row in named], dtype=np.int64),
        np.array([ticks_of(row[2]) for row in named], dtype=np.int64),
        np.arange(1, len(named) + 1),
    )


def parts(ref, hyp, uem=None, **options):
    overall = score_diarization(ref, hyp, uem, **options).overall
    names = ("scored", "missed", "false_alarm", "confusion")
    return tuple(overall[name] for name in names)


A10 = annotation((0, 10, "A"))


def test_the_four_parts():
    # A 0-6, B 6-10; x 1-8, y 11-12. x stands for A (5 s shared, 2 with B).
    # missed 0-1 and 8-10, confusion 6-8, false alarm 11-12
    ref = annotation((0, 6, "A"), (6, 10, "B"))
    hyp = annotation((1, 8, "x"), (11, 12, "y"))
    assert parts(ref, hyp) == (10.0, 3.0, 1.0, 2.0)
    assert score_diarization(ref, hyp).overall["der"] == 0.6


def test_the_mapping_is_optimal_not_greedy():
    # shared: A-x 6, A-y 5, B-x 5. Greedy takes A-x and leaves B and y: 6 right.
    # Optimal A-y and B-x: 10 right of 16.
    ref = annotation((0, 11, "A"), (11, 16, "B"))
    hyp = annotation((0, 6, "x"), (6, 11, "y"), (11, 16, "x"))
    result = score_diarization(ref, hyp)
    assert result.overall["confusion"] == 6.0
    assert result.recordings["r"].mapping == {"y": "A", "x": "B"}


def test_the_collar_lies_on_each_side():
    # 0-10 with 0.25 on each side: 9.5 s; hypothesis ends at 6: missed 6-9.75
    hyp = annotation((0, 6, "x"))
    for rules in CONVENTIONS:
        assert parts(A10, hyp, convention=rules, collar=0.25) == (9.5, 3.75, 0, 0)


def test_a_hypothesis_boundary_on_the_edge_of_a_collar_costs_nothing():
    # collars 0.75-1.25 and 4.75-5.25; hypothesis 1.25-4.75
    ref, hyp = annotation((1, 5, "A")), annotation(("r", "1.25", "4.75", "x"))
    assert parts(ref, hyp, regions((0, 6)), collar=0.25) == (3.5, 0.0, 0.0, 0.0)


def test_touching_turns_have_a_collar_where_the_convention_keeps_them():
    # 0-5-10. With a collar at 5: 4.5 + 4.5 s. Joined: 9.5 s.
    ref, hyp = annotation((0, 5, "A"), (5, 10, "A")), annotation((0, 10, "x"))
    for rules, scored in ((OURS, 9.5), (NIST, 9.0), (DSCORE, 9.0), (PYANNOTE, 9.0)):
        assert parts(ref, hyp, convention=rules, collar=0.25)[0] == scored


def test_touching_turns_of_two_speakers_have_a_collar_everywhere():
    ref = annotation((0, 5, "A"), (5, 10, "B"))
    for rules in CONVENTIONS:
        assert parts(ref, ref, convention=rules, collar=0.25)[0] == 9.0


def test_a_collar_may_cover_a_turn_and_the_overlap_in_it():
    # B speaks 4.0-4.4 within A 0-10. Collar 0.25 at 0, 4.0, 4.4 and 10 covers
    # 3.75-4.65, all of B: 3.5 s + 5.1 s of A alone are left.
    ref = annotation((0, 10, "A"), ("r", "4.0", "4.4", "B"))
    hyp = annotation((0, 10, "x"))
    for rules in CONVENTIONS:
        got = parts(ref, hyp, convention=rules, collar=0.25)
        assert got == (8.6, 0.0, 0.0, 0.0)


def test_overlap_is_scored_or_ignored():
    # A 0-10, B 6-12, x 0-10, y 10-12. 6-10 has two reference speakers.
    ref = annotation((0, 10, "A"), (6, 12, "B"))
    hyp = annotation((0, 10, "x"), (10, 12, "y"))
    for rules in CONVENTIONS:
        assert parts(ref, hyp, convention=rules) == (16.0, 4.0, 0.0, 0.0)
        ignored = parts(ref, hyp, convention=rules, ignore_overlap=True)
        assert ignored == (8.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("reference", "end", "wanted"),
    [
        # Overlap 1-3 ends with the region, so that 3-3.5 behind it is scored.
        ([(0, 3, "A"), (1, 4, "B"), (3.5, 5.5, "A")], 3, (1.5, 0.0, 0.0, 0.5)),
        # Overlap 5-7 begins where overlap 0-5 ends, and is scored.
        ([(0, 5, "A"), (0, 10, "B"), (5, 10, "C")], 7, (4.0, 3.0, 0.0, 0.0)),
        # The same with one speaker: 0-1 and 3-5 are scored.
        ([(0, 3, "A"), (1, 6, "A"), (3, 8, "A")], 5, (3.0, 0.0, 0.0, 0.0)),
    ],
)
def test_md_eval_scores_some_overlap_at_the_end_of_a_region(reference, end, wanted):
    # Figures printed by md-eval-22 -1.
    true, found = annotation(*reference), annotation((0, 6, "x"))
    options = {"ignore_overlap": True, "convention": NIST}
    assert parts(true, found, regions((0, end)), **options) == wanted


def test_regions_that_touch_are_two_regions_to_md_eval():
    # md-eval-22 -1 scores 3-5, which begins directly after overlap, and 6-8.
    true = annotation((0, 3, "A"), (1, 6, "A"), (3, 8, "A"))
    found = annotation((0, 8, "x"))
    options = {"ignore_overlap": True, "convention": NIST}
    one = parts(true, found, regions((1, 8)), **options)
    two = parts(true, found, regions((1, 5), (5, 8)), **options)
    assert (one[0], two[0]) == (2.0, 4.0)


def test_overlapping_turns_of_one_speaker():
    # A 0-6 and 4-10. Once: 10 s. As two turns: 12 s, of which x finds one of the
    # two in 4-6. Overlap ignored: 4-6 goes where turns are counted, not speakers.
    ref, hyp = annotation((0, 6, "A"), (4, 10, "A")), annotation((0, 10, "x"))
    for rules in (OURS, NIST, DSCORE):
        assert parts(ref, hyp, convention=rules) == (10.0, 0.0, 0.0, 0.0)
    assert parts(ref, hyp, convention=PYANNOTE) == (12.0, 2.0, 0.0, 0.0)
    for rules, scored in ((OURS, 10.0), (NIST, 8.0), (DSCORE, 10.0), (PYANNOTE, 8.0)):
        got = parts(ref, hyp, convention=rules, ignore_overlap=True)
        assert got[0] == scored


def test_without_a_uem_the_extent_is_that_of_the_reference_or_of_both():
    # reference 5-10, hypothesis 0-12: 5 + 2 s of false alarm, lost by md-eval
    ref, hyp = annotation((5, 10, "A")), annotation((0, 12, "x"))
    for rules, lost in ((OURS, 7.0), (NIST, 0.0), (DSCORE, 7.0), (PYANNOTE, 7.0)):
        assert parts(ref, hyp, convention=rules) == (5.0, 0.0, lost, 0.0)
    assert parts(ref, hyp, extent="reference") == (5.0, 0.0, 0.0, 0.0)
    assert parts(ref, hyp, convention=NIST, extent="joint")[2] == 7.0


def test_a_uem_that_cuts_a_turn_makes_a_boundary_only_in_dscore():
    # UEM 3-8 within A 0-10: 5 s, and in dscore a collar at 3 and 8
    hyp, uem = annotation((2, 10, "x")), regions((3, 8))
    for rules, scored in ((OURS, 5.0), (NIST, 5.0), (DSCORE, 4.5), (PYANNOTE, 5.0)):
        assert parts(A10, hyp, uem, convention=rules, collar=0.25)[0] == scored


def test_a_recording_that_the_uem_lacks():
    # r 0-10 found to 8; q 0-10 found to 5, and 10-11 false
    ref = annotation(("r", 0, 10, "A"), ("q", 0, 10, "B"))
    hyp = annotation(("r", 0, 8, "x"), ("q", 0, 5, "y"), ("q", 10, 11, "y"))
    uem = regions(("r", 0, 10))
    want = {
        OURS: (20.0, 7.0, 1.0, 0.0),
        NIST: (20.0, 7.0, 0.0, 0.0),
        DSCORE: (10.0, 2.0, 0.0, 0.0),
        PYANNOTE: (20.0, 7.0, 1.0, 0.0),
    }
    for rules, expected in want.items():
        assert parts(ref, hyp, uem, convention=rules) == expected
        result = score_diarization(ref, hyp, uem, convention=rules)
        assert "not in the UEM" in {remark.kind for remark in result.remarks}


def test_the_mapping_sees_the_overlap_or_not():
    # A 0-10 and C 0-10 overlap; B 10-14, A 14-15. x 0-14, y 14-15.
    # On all time x stands for A or C (10 s), not B (4 s): wrong in 10-14. On what
    # is left without overlap x stands for B.
    ref = annotation((0, 10, "A"), (0, 10, "C"), (10, 14, "B"), (14, 15, "A"))
    hyp = annotation((0, 14, "x"), (14, 15, "y"))
    for rules, wrong in ((OURS, 4.0), (NIST, 4.0), (DSCORE, 4.0), (PYANNOTE, 0.0)):
        got = parts(ref, hyp, convention=rules, ignore_overlap=True)
        assert got == (5.0, 0.0, 0.0, wrong)


def test_turns_without_length():
    # a turn of A at 5 without length: a collar at 5 in md-eval, nothing elsewhere
    ref, hyp = annotation((0, 10, "A"), (5, 5, "A")), annotation((0, 10, "x"))
    for rules, scored in ((OURS, 9.5), (NIST, 9.0), (DSCORE, 9.5), (PYANNOTE, 9.5)):
        result = score_diarization(ref, hyp, convention=rules, collar=0.25)
        assert result.overall["scored"] == scored
        assert [(r.kind, r.line) for r in result.remarks] == [("no length", 2)]


def test_turns_of_negative_length_are_left_out_with_a_warning():
    ref = annotation((0, 10, "A"), (8, 4, "B"))
    for rules in CONVENTIONS:
        result = score_diarization(ref, A10, convention=rules)
        assert result.overall["scored"] == 10.0
        assert "negative length" in {remark.kind for remark in result.remarks}


def test_pyannote_drops_turns_up_to_a_microsecond():
    ref = annotation((0, 10, "A"), ("r", "20", "20.000001", "B"))
    assert parts(ref, A10, convention=PYANNOTE)[0] == 10.0
    assert parts(ref, A10)[0] == 10.000001


def test_a_recording_without_reference():
    ref = annotation(("r", 0, 10, "A"))
    hyp = annotation(("r", 0, 10, "x"), ("q", 0, 4, "x"))
    for rules in (NIST, PYANNOTE):
        result = score_diarization(ref, hyp, convention=rules)
        assert list(result.recordings) == ["r"]
        assert result.overall["der"] == 0.0
    ours = score_diarization(ref, hyp)
    assert ours.overall["der"] == 0.4  # 4 s of false alarm in 10 s
    assert ours.recordings["q"].figures["der"] is None
    assert ours.recordings["q"].figures["false_alarm"] == 4.0
    dscore = score_diarization(ref, hyp, convention=DSCORE)
    assert dscore.overall["der"] == 0.0
    assert dscore.recordings["q"].figures["der"] == 1.0
    for result in (ours, dscore):
        assert "hypothesis only" in {remark.kind for remark in result.remarks}


def test_a_recording_without_hypothesis_is_missed():
    ref = annotation(("r", 0, 10, "A"), ("q", 0, 5, "B"))
    for rules in CONVENTIONS:
        result = score_diarization(ref, annotation(("r", 0, 10, "x")), convention=rules)
        assert result.recordings["q"].figures["missed"] == 5.0
        assert result.overall["der"] == pytest.approx(5 / 15)


def test_no_scored_speech_keeps_its_false_alarms():
    # q has no reference speech in its region 20-25 but 3 s of hypothesis
    ref = annotation(("r", 0, 10, "A"), ("q", 0, 10, "B"))
    hyp = annotation(("r", 0, 10, "x"), ("q", 21, 24, "y"))
    uem = regions(("r", 0, 10), ("q", 20, 25))
    for rules, der in ((OURS, None), (NIST, None), (PYANNOTE, 1.0)):
        result = score_diarization(ref, hyp, uem, convention=rules)
        assert result.recordings["q"].figures["der"] == der
        assert result.overall["der"] == pytest.approx(3 / 10)
        assert "nothing scored" in {remark.kind for remark in result.remarks}


def test_dots_in_ids_of_the_uem():
    # UEM 0-15; reference A 5-10, B 10-20 in rec.a; hypothesis 0-20 the same
    ref = annotation((5, 10, "A"), (10, 20, "B"), recording="rec.a")
    hyp = annotation((0, 10, "x"), (10, 20, "y"), recording="rec.a")
    uem = regions(("rec.a", 0, 15))
    assert parts(ref, hyp, uem) == (10.0, 0.0, 5.0, 0.0)
    assert parts(ref, hyp, uem, convention=PYANNOTE) == (10.0, 0.0, 5.0, 0.0)
    result = score_diarization(ref, hyp, uem, convention=NIST)  # id becomes rec
    assert result.overall["scored"] == 15.0
    assert "dotted id" in {remark.kind for remark in result.remarks}
    left_out = score_diarization(ref, hyp, uem, convention=DSCORE)
    assert list(left_out.recordings) == ["rec"]


def test_channels_are_matched_by_nist_alone():
    other = annotation((0, 10, "x"), channel="2")
    assert parts(A10, other, convention=NIST)[1] == 10.0
    for rules in (OURS, DSCORE, PYANNOTE):
        assert parts(A10, other, convention=rules)[1] == 0.0


def test_overlapping_regions_are_refused_or_joined():
    uem = regions((0, 6), (4, 10))
    with pytest.raises(DataFormatError, match=r"uem:2: regions of 'r' overlap, which"):
        score_diarization(A10, A10, uem, convention=NIST)
    for rules in (OURS, DSCORE, PYANNOTE):
        assert parts(A10, A10, uem, convention=rules)[0] == 10.0


def test_dscore_rounds_onset_and_duration_to_milliseconds():
    # 0-1.0004 becomes 1.000 s long
    ref = annotation(("r", "0", "1.0004", "A"))
    assert parts(ref, ref, convention=DSCORE)[0] == 1.0
    assert parts(ref, ref)[0] == 1.0004


def test_pooled_and_mean_figures_differ():
    # r: 5 of 10 s wrong, q: 0 of 90 s. Pooled 5 / 100, mean (0.5 + 0) / 2
    ref = annotation(("r", 0, 10, "A"), ("q", 0, 90, "B"))
    hyp = annotation(("r", 0, 5, "x"), ("q", 0, 90, "y"))
    result = score_diarization(ref, hyp)
    assert result.overall["der"] == 0.05
    assert result.macro["der"] == 0.25


def test_jer_of_a_speaker_is_one_minus_the_jaccard_index():
    # A 0-10, x 2-12: shared 8, union 12, so 1 - 8/12. B 20-22 not found: 1.
    ref, hyp = annotation((0, 10, "A"), (20, 22, "B")), annotation((2, 12, "x"))
    for rules in CONVENTIONS:
        result = score_diarization(ref, hyp, convention=rules, extent="joint")
        assert result.recordings["r"].speaker_jer == pytest.approx(
            {"A": 1 / 3, "B": 1.0}
        )
        assert result.overall["jer"] == pytest.approx(2 / 3)


def test_jer_maps_for_itself_unless_pyannote():
    # A 0-2, B 2-22; x 0-22. DER maps x to B (20 s). Jaccard: A 2/22, B 20/22.
    # With y 2-12 beside x: Jaccard of y and B is 10/20, so both mappings pair
    # x-A and y-B or x-B alone: 2/22 + 10/20 < 20/22 + 0.
    ref = annotation((0, 2, "A"), (2, 22, "B"))
    hyp = annotation((0, 22, "x"), (2, 12, "y"))
    result = score_diarization(ref, hyp)
    assert result.recordings["r"].speaker_jer == pytest.approx(
        {"A": 1.0, "B": 1 - 20 / 22}
    )


def test_purity_and_coverage():
    # x has A for 6 s and B for 4: purity 6/10. A lies in x whole, B too: 10/10
    ref, hyp = annotation((0, 6, "A"), (6, 10, "B")), annotation((0, 10, "x"))
    result = score_diarization(ref, hyp).overall
    assert (result["purity"], result["coverage"]) == (0.6, 1.0)
    # one cluster: ACP 0.36 + 0.16 = 0.52; both speakers in one: ASP 1
    assert result["acp"] == pytest.approx(0.52)
    assert result["asp"] == 1.0
    assert result["k"] == pytest.approx(0.52**0.5)


def test_overlap_does_not_spoil_the_purity_of_a_perfect_hypothesis():
    ref = annotation((0, 10, "A"), (6, 12, "B"))
    hyp = annotation((0, 10, "x"), (6, 12, "y"))
    overall = score_diarization(ref, hyp).overall
    assert (overall["acp"], overall["asp"], overall["k"]) == (1.0, 1.0, 1.0)
    assert overall["overlap_share"] == pytest.approx(4 / 12)


def test_information_measures_of_a_table_worked_by_hand():
    # A 0-5, B 5-10; x 0-10. Classes: ref 5, 5; hyp 10. B3 precision
    # (25 + 25) / 10 / 10 = 0.5, recall (25/5 + 25/5) / 10 = 1, H(ref|sys) = 1 bit
    ref, hyp = annotation((0, 5, "A"), (5, 10, "B")), annotation((0, 10, "x"))
    got = score_diarization(ref, hyp).overall
    assert (got["b3_precision"], got["b3_recall"]) == (0.5, 1.0)
    assert got["b3_f1"] == pytest.approx(2 / 3)
    assert got["h_ref_sys"] == pytest.approx(1.0, abs=1e-12)
    assert got["h_sys_ref"] == 0.0
    assert (got["mi"], got["nmi"]) == (0.0, 0.0)
    assert (got["gkt_ref_sys"], got["gkt_sys_ref"]) == (1.0, 0.0)


def test_more_speakers_than_fit_into_one_word_are_kept_apart():
    turns = [(start, start + 1, f"s{start:03d}") for start in range(150)]
    overall = score_diarization(annotation(*turns), annotation(*turns)).overall
    assert overall["h_ref_sys"] == pytest.approx(0.0, abs=1e-12)
    assert overall["mi"] == pytest.approx(np.log2(150))


def test_errors_are_listed_with_their_speakers():
    ref = annotation((0, 6, "A"), (6, 10, "B"))
    hyp = annotation((1, 8, "x"), (11, 12, "y"))
    second = TICKS_PER_SECOND
    assert [
        (start // second, end // second, kind, ref_names, hyp_names, count)
        for _, start, end, kind, ref_names, hyp_names, count in error_intervals(
            score_diarization(ref, hyp)
        )
    ] == [
        (0, 1, "missed", ("A",), (), 1),
        (6, 8, "confusion", ("B",), ("x",), 1),
        (8, 10, "missed", ("B",), (), 1),
        (11, 12, "false_alarm", (), ("y",), 1),
    ]


def test_memory_does_not_grow_with_the_product_of_speakers():
    n = 2000
    ref = annotation(*((i, i + 1, f"A{i}") for i in range(n)))
    hyp = annotation(*((i, i + 0.5, f"x{i}") for i in range(n)))
    tracemalloc.start()
    result = score_diarization(ref, hyp)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.overall["der"] == 0.5
    assert peak < 8 * n * n  # one table of reference by hypothesis speakers


def test_speakers_who_all_overlap_are_paired_by_their_turns():
    # 100 of 100 speakers talk at the same time: A0 0-101, A1 1-102, ...
    n = 100
    ref = annotation(*((i, i + n + 1, f"A{i}") for i in range(n)))
    result = score_diarization(ref, ref)
    assert (result.overall["der"], result.overall["k"]) == (0.0, 1.0)
    assert result.recordings["r"].mapping == {f"A{i}": f"A{i}" for i in range(n)}


def test_many_long_recordings_do_not_overflow(monkeypatch):
    # 30 recordings of 900,000 s: 2.7e19 ticks, more than an int64 holds
    ref = annotation(*((f"r{n}", 0, 900_000, "A") for n in range(30)))
    hyp = annotation(*((f"r{n}", 0, 450_000, "x") for n in range(30)))
    result = score_diarization(ref, hyp)
    assert len(result.swept) > 1
    assert result.overall["scored"] == 27_000_000.0
    assert result.overall["der"] == 0.5


def test_the_number_of_axes_does_not_change_a_figure(monkeypatch):
    ref = annotation(*((f"r{n}", n, 10 + n, "A") for n in range(6)))
    hyp = annotation(*((f"r{n}", n, 9, "x") for n in range(6)))
    once = score_diarization(ref, hyp, collar=0.25)
    monkeypatch.setattr(axis_module, "_ROOM", 20 * TICKS_PER_SECOND)
    often = score_diarization(ref, hyp, collar=0.25)
    assert len(often.swept) > len(once.swept) == 1
    assert often.overall == once.overall
    assert often.recordings == once.recordings


@pytest.mark.parametrize(
    ("hypothesis", "options", "message"),
    [
        (A10, {"convention": "md-eval"}, "convention must be one of"),
        (A10, {"collar": -0.1}, "collar must be a finite number"),
        (A10, {"extent": "uem"}, "extent must be one of"),
        ("hyp.rttm", {}, r"hypothesis must be .*'hyp\.rttm'"),
    ],
)
def test_wrong_arguments_are_refused(hypothesis, options, message):
    with pytest.raises(InvalidParameterError, match=message):
        score_diarization(A10, hypothesis, **options)
