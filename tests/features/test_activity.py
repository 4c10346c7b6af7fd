"""Local speakers of windows, and the voices they become."""

import numpy as np
import pytest

from sms_diar.features.local_activity import (
    Frames,
    LocalActivity,
    count_speakers,
    local_activity,
    mixed_share,
    stretches_of,
)
from sms_diar.features.mono import ArraySamples
from sms_diar.pipeline.diarize.global_activity import (
    NOBODY,
    add_activity,
    assign_local,
    ensure_all_voices,
    most_active,
    voices_in_frames,
)
from sms_diar.pipeline.diarize.voices import (
    add_outlier_windows,
    common_time,
    merge_split_clusters,
    unassigned_speakers,
)
from sms_diar.types import Segment

CLASSES = ((), (0,), (1,), (0, 1))
STEP = 0.1


def frames(count):
    return Frames(STEP, STEP / 2, count, count * STEP)


def windows_of(rows, starts, count):
    """Windows whose frames are in the class that a digit says, for certain."""
    chosen = np.array([[int(digit) for digit in row] for row in rows])
    probabilities = np.eye(len(CLASSES), dtype=np.float16)[chosen]
    return LocalActivity(frames(count), np.array(starts), probabilities, CLASSES)


def test_the_mixed_share_is_what_the_main_speaker_does_not_say():
    # Frames 2 to 5: 1, 1, 1, 2 in the first window (1 of 4 is mixed), and 1, 1, 2, 2 in
    # the second (2 of 4). Frames 8 and 9 are in no window with a single speaker.
    local = windows_of(["00111200", "11220033"], [0, 2], 10)
    inside, silent = Segment("a", 0.2, 0.6), Segment("a", 0.8, 1.0)
    assert mixed_share(local, [inside, silent]).tolist() == [(1 / 4 + 2 / 4) / 2, 0.0]


def test_segmenters_count_speakers_by_their_mean_probability():
    # Frames 2 and 3 are in both windows of the first: at least one speaker with
    # probability 1 and 1, at least two with 1/2 and 0. The second has a frame less,
    # and its last one counts twice.
    one = windows_of(["0113", "3100"], [0, 2], 6)
    assert one.at_least().tolist() == [
        [0, 0],
        [1, 0],
        [1, 0.5],
        [1, 0.5],
        [0, 0],
        [0, 0],
    ]
    other = windows_of(["02331"], [0], 5)
    # At least one: 0, 1, 1, 1, 1/2, 1/2; at least two: 0, 0, 3/4, 3/4, 0, 0.
    for share, want in ((0.5, [0, 1, 2, 2, 1, 1]), (0.8, [0, 1, 1, 1, 1, 1])):
        assert count_speakers([one, other], share).tolist() == want
    # At least one: 0, 1, 1, 1, 1/3, 1/3, which is not speech; at least two: 0, 0, 2/3,
    # 2/3, 0, 0 with the first twice.
    assert count_speakers([one, other, one], 0.6).tolist() == [0, 1, 2, 2, 0, 0]
    assert count_speakers([one], 0.5).tolist() == [0, 1, 2, 2, 0, 0]
    assert count_speakers([one], 0.6).tolist() == [0, 1, 1, 1, 0, 0]


def test_nobody_speaks_unless_somebody_probably_does():
    # At least one with .45, at least two with .42; then .55 and .3.
    classes = np.array([[[0.55, 0.03, 0.0, 0.42], [0.45, 0.25, 0.0, 0.3]]])
    local = LocalActivity(frames(2), np.array([0]), classes, CLASSES)
    assert count_speakers([local], 0.4).tolist() == [0, 1]


class Loudness:
    """A segmenter: the first speaker is loud, the second is the sign of a sample."""

    name, rate, window, frame_step, frame_offset = "toy", 100, 1.0, 0.1, 0.05
    classes, fingerprint = CLASSES, "0" * 16

    def __init__(self):
        self.blocks = []

    def log_probabilities(self, windows, *, workers=1):
        self.blocks.append(len(windows))
        means = windows.reshape(len(windows), -1, 10).mean(axis=2)
        chosen = np.where(np.abs(means) > 0.2, np.where(means > 0.0, 1, 2), 0)
        with np.errstate(divide="ignore"):
            return np.log(np.eye(4)[chosen])


@pytest.mark.parametrize("step", [0.1, 0.3, 1.0])
def test_windows_cover_a_recording_and_the_step_does_not_move_their_frames(step):
    levels = np.zeros(47)
    levels[5:12], levels[20:30], levels[44:] = 0.5, -0.5, 0.5
    audio = ArraySamples(np.repeat(levels, 10), 100)
    local = local_activity(audio, Loudness(), step=step)
    assert local.frames.count == 47
    expected = local.expected_speakers()
    np.testing.assert_allclose(expected, np.abs(levels) > 0.2)
    assert local.seen().min() >= 1
    assert local.frames.stretches(expected > 0.5) == [
        pytest.approx((0.5, 1.2)),
        pytest.approx((2.0, 3.0)),
        pytest.approx((4.4, 4.7)),
    ]


def test_a_recording_shorter_than_a_window_is_one_window():
    local = local_activity(ArraySamples(np.full(40, 0.5), 100), Loudness(), step=1.0)
    assert local.probabilities.shape == (1, 4, 4)
    assert local.expected_speakers().tolist() == [1.0] * 4


def test_the_last_window_ends_with_the_recording():
    """24.5 frames: windows of 10 from 0, 10 and 15; half a frame is silence."""
    local = local_activity(ArraySamples(np.full(245, 0.5), 100), Loudness(), step=1.0)
    assert local.starts.tolist() == [0, 10, 15]
    assert local.frames.count == 25
    assert local.frames.stretches(np.ones(25, dtype=bool)) == [(0.0, 2.45)]


def test_long_recordings_are_read_in_blocks():
    toy = Loudness()
    local_activity(ArraySamples(np.zeros(100 * 80), 100), toy, step=1.0)
    assert max(toy.blocks) < 80
    assert sum(toy.blocks) == 80


def test_expected_speakers_are_a_mean_over_the_windows_that_see_a_frame():
    """Frame 2: both speak in window 0, one in window 1: (2 + 1) / 2."""
    local = windows_of(["1130", "1110"], [0, 2], 6)
    assert local.expected_speakers().tolist() == [1.0, 1.0, 1.5, 0.5, 1.0, 0.0]
    assert local.seen().tolist() == [1.0, 1.0, 2.0, 2.0, 1.0, 1.0]


def test_spans_and_stretches_agree():
    grid = frames(10)
    assert grid.span(0.2, 0.5) == slice(2, 5)
    assert grid.span(-1.0, 99.0) == slice(0, 10)
    on = np.zeros(10, dtype=bool)
    on[2:5] = True
    [found] = stretches_of(grid, on, "r")
    assert (found.start, found.end) == (pytest.approx(0.2), pytest.approx(0.5))
    assert stretches_of(grid, on, "r", least=0.4) == []


def test_local_speakers_become_the_voices_that_fit_where_they_are_alone():
    """The numbering of the second window is the other way round."""
    local = windows_of(["1122", "2211"], [0, 0], 4)
    fits = voices_in_frames(
        local.frames,
        [Segment("r", 0.0, 0.2), Segment("r", 0.2, 0.4)],
        np.array([[0.1, 0.9], [0.8, 0.2]]),
    )
    assert fits[0] == pytest.approx([-0.4, 0.4])
    assert assign_local(local, fits).tolist() == [[1, 0], [0, 1]]


def test_two_local_speakers_of_a_window_are_never_one_voice():
    local = windows_of(["1122"], [0], 4)
    both = np.tile([0.9, 0.1], (4, 1))
    assert sorted(assign_local(local, both)[0]) == [0, 1]
    alone = np.ones((4, 1))
    assert sorted(assign_local(local, alone)[0]) == [NOBODY, 0]


def test_overlap_is_given_to_the_voices_of_both_local_speakers():
    local = windows_of(["1133220"], [0], 7)
    activity = np.zeros((7, 3))
    add_activity(activity, local, np.array([[1, 0]]))
    want = np.array([[0, 0, 1, 1, 1, 1, 0], [1, 1, 1, 1, 0, 0, 0], [0] * 7]).T
    np.testing.assert_array_equal(activity, want)
    counts = count_speakers([local], 0.5)
    np.testing.assert_array_equal(most_active(activity, counts), want > 0)


def test_local_speakers_without_a_voice_add_nothing():
    local = windows_of(["1111"], [0], 4)
    nothing = np.zeros((4, 1))
    add_activity(nothing, local, np.array([[NOBODY, 0]]))
    assert not nothing.any()


def test_somebody_without_a_voice_is_found_once():
    """Speaker 1 of both windows is the same person, who has no voice: 1 s alone."""
    rows = ["1" * 10 + "2" * 10, "2" * 10 + "0" * 10]
    local = windows_of(rows, [0, 10], 30)
    voices = np.array([[0, NOBODY], [0, NOBODY]])
    [person] = unassigned_speakers(local, voices, local.expected_speakers())
    assert (person.first + np.flatnonzero(person.alone)).tolist() == list(range(10, 20))
    assert person.alone[person.alone > 0.0].tolist() == [1.0] * 10


def test_less_than_a_fiftieth_of_the_speech_is_nobody():
    """Two frames in one of three windows are two thirds of a frame."""
    for n, found in ((33, [[0.0] * 31 + [1 / 3] * 2]), (34, [])):
        rows = ["1" * (n - 2) + "22", "1" * n, "1" * n]
        local = windows_of(rows, [0, 0, 0], n)
        voices = np.array([[0, NOBODY]] * 3)
        people = unassigned_speakers(local, voices, local.expected_speakers())
        assert [person.alone.tolist() for person in people] == found


def test_who_is_heard_alone_for_longest_comes_first():
    local = windows_of(["1122200000", "1112222000"], [0, 10], 20)
    voices = np.array([[0, NOBODY], [0, NOBODY]])
    people = unassigned_speakers(local, voices, local.expected_speakers())
    assert [person.first for person in people] == [10, 0]


def test_clusters_rarely_told_apart_are_one_voice_if_they_are_alike():
    windows = [Segment("r", 0.0, 0.5), Segment("r", 0.5, 1.0)]
    labels = np.array([0, 1])
    near = np.array([[1.0, 0.0], [0.8, 0.6]])
    far = np.array([[1.0, 0.0], [0.0, 1.0]])
    one, two = windows_of(["1" * 10], [0], 10), windows_of(["1" * 5 + "2" * 5], [0], 10)
    assert merge_split_clusters(one, windows, labels, near).tolist() == [0, 0]
    assert merge_split_clusters(one, windows, labels, far).tolist() == [0, 1]
    assert merge_split_clusters(two, windows, labels, near).tolist() == [0, 1]
    both = windows_of(["1" * 10, "1" * 5 + "2" * 5], [0, 0], 10)
    assert merge_split_clusters(both, windows, labels, near).tolist() == [0, 1]
    most = windows_of(["1" * 10, "1" * 6 + "2" * 4], [0, 0], 10)
    assert merge_split_clusters(most, windows, labels, near).tolist() == [0, 0]


def test_common_time_is_the_lesser_of_two_in_each_window():
    """Five frames of cluster 0 and two of cluster 1 in one local speaker."""
    windows = [Segment("r", 0.0, 0.5), Segment("r", 0.5, 0.7)]
    local = windows_of(["1" * 7 + "222"], [0], 10)
    together, apart = common_time(local, windows, np.array([0, 1]), 2)
    assert together[0, 1] == pytest.approx(2.0)
    assert apart[0, 1] == pytest.approx(0.0)


def test_frames_are_ranked_in_blocks_without_a_seam():
    n = (1 << 16) + 3
    activity = np.tile(np.array([[0.1, 0.9], [0.8, 0.2]]), (n // 2 + 1, 1))[:n]
    chosen = most_active(activity, np.ones(n, dtype=int))
    np.testing.assert_array_equal(chosen, activity > 0.5)


def test_voices_that_are_missing_are_the_windows_that_fit_worst():
    rows = np.array([[1.0, 0.0], [0.96, 0.28], [0.0, 1.0], [-1.0, 0.0]])
    # Cosines with the first voice: 1, .96, 0, -1; then 0 is nearest to none of both.
    found = add_outlier_windows(rows, rows[:1], 3)
    assert found.tolist() == [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]
    assert len(add_outlier_windows(rows, rows[:2], 1)) == 2
    assert len(add_outlier_windows(rows, rows[:1], 9)) == 4


def test_a_voice_without_a_place_takes_over_the_window_that_suits_it():
    speaks = np.zeros((6, 2), dtype=bool)
    speaks[:, 0] = True
    windows = [Segment("a", 0.0, 0.3), Segment("a", 0.3, 0.6)]
    scores = np.array([[0.9, 0.2], [0.8, 0.7]])
    found = ensure_all_voices(speaks, frames(6), windows, scores)
    assert found.T.tolist() == [[True] * 3 + [False] * 3, [False] * 3 + [True] * 3]


def test_a_voice_without_a_place_joins_in_where_nobody_has_another_one():
    speaks = np.array([[True, False]] * 3)
    scores = np.array([[0.9, 0.2]])
    found = ensure_all_voices(speaks, frames(3), [Segment("a", 0.0, 0.3)], scores)
    assert found.all()


def test_a_window_speaks_for_its_middle():
    # Windows of four frames, two of them common: weights 1, 2, 2, 1. In the first
    # common frame (2 * .4 - 1 * .4) / 3, in the second the other way round.
    fits = voices_in_frames(
        frames(6),
        [Segment("r", 0.0, 0.4), Segment("r", 0.2, 0.6)],
        np.array([[0.9, 0.1], [0.1, 0.9]]),
    )
    want = [0.4, 0.4, 0.4 / 3, -0.4 / 3, -0.4, -0.4]
    assert fits[:, 0] == pytest.approx(want)
    assert fits[:, 1] == pytest.approx([-value for value in want])
