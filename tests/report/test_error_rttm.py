"""Where the errors are, as RTTM."""

from sms_diar.metrics import score_diarization
from sms_diar.report.score_report import error_rttm
from sms_diar.types import Segment, Turn


def turn(recording, start, end, speaker):
    return Turn(Segment(recording, start, end), speaker)


REF = [turn("r", 0.0, 6.0, "A"), turn("r", 6.0, 10.0, "B")]


def test_neighbouring_errors_of_a_kind_are_joined():
    # z begins at 7 beside x: the confusion of B goes on
    hyp = [turn("r", 0.0, 10.0, "x"), turn("r", 7.0, 8.0, "z")]
    text = error_rttm(score_diarization(REF, hyp))
    assert text == (
        "SPEAKER r 1 6.000 1.000 <NA> <NA> confusion:B>x 1 <NA>\n"
        "SPEAKER r 1 7.000 1.000 <NA> <NA> false_alarm:x 1 <NA>\n"
        "SPEAKER r 1 8.000 2.000 <NA> <NA> confusion:B>x 1 <NA>\n"
    )
