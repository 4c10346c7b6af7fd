"""Windows of conversations, and who speaks in them."""

import numpy as np
import pytest

from benchmarks.compare.conversations import (
    Conversation,
    draw_conversations,
    load_conversations,
    moved,
    prepare_conversations,
    speaker_of,
)
from sms_diar.io.turns.rttm import write_rttm
from sms_diar.types import Segment, Turn

TURNS = [
    Turn(Segment("r", 0.0, 2.0), "ann"),
    Turn(Segment("r", 1.8, 3.0), "bob"),
    Turn(Segment("r", 3.2, 3.4), "ann"),
    Turn(Segment("r", 9.0, 9.5), "cid"),
]


@pytest.mark.parametrize(
    ("start", "end", "speaker"),
    [
        (0.0, 1.5, "ann"),
        (1.5, 3.0, "bob"),  # ann .5, bob 1.2
        (1.6, 3.5, "bob"),  # ann .4 + .2, bob 1.2
        (2.5, 8.0, "bob"),  # bob .5, ann .2
        (2.9, 3.5, "ann"),  # bob .1, ann .2
        (6.0, 8.9, "cid"),  # nobody; 7.45 is 1.55 from cid and 4.05 from ann
        (3.5, 5.0, "ann"),  # nobody; 4.25 is .85 from ann
    ],
)
def test_a_window_is_whose_turns_overlap_it_longest(start, end, speaker):
    assert speaker_of(Segment("r", start, end), TURNS) == speaker


def conversation(speakers, starts):
    segments = tuple(Segment("r", s, s + 1.5) for s in starts)
    X = np.arange(2.0 * len(starts)).reshape(-1, 2)
    return Conversation(X, segments, np.array(list(speakers)))


def test_stretches_end_at_pauses_and_where_the_speaker_changes():
    found = conversation("aaabba", [0.0, 0.75, 2.25, 3.0, 3.75, 4.5])
    # 2.25 is where the window before ends: they do not overlap.
    assert list(found.stretches()) == [
        range(2),
        range(2, 3),
        range(3, 5),
        range(5, 6),
    ]


def test_taking_windows_moves_them_to_the_beginning():
    found = conversation("abc", [5.0, 6.0, 7.0]).take([1, 2])
    assert [one.start for one in found.segments] == [0.0, 1.0]
    assert found.seconds == 2.5
    assert found.speakers.tolist() == ["b", "c"]
    np.testing.assert_array_equal(found.X, [[2.0, 3.0], [4.0, 5.0]])


def test_moving_keeps_the_length_and_stays_above_zero():
    assert moved(Segment("r", 1.0, 2.5), 2.0) == Segment("r", 3.0, 4.5)
    assert moved(Segment("r", 1.0, 2.5), -2.0) == Segment("r", 0.0, 1.5)


@pytest.fixture
def source(tmp_path):
    """Two recordings, of 7 windows in wrong order and of 5."""
    starts = np.array([4.5, 0.0, 0.75, 1.5, 2.25, 3.0, 3.75, *np.arange(5.0)])
    np.savez(
        tmp_path / "windows.npz",
        rec=np.array(["long"] * 7 + ["short"] * 5),
        start=starts,
        end=starts + 1.5,
        x=np.column_stack([starts, np.ones(12)]).astype(np.float32),
    )
    turns = [
        Turn(Segment("long", 0.0, 2.5), "ann"),
        Turn(Segment("long", 2.5, 6.0), "bob"),
        Turn(Segment("short", 0.0, 6.0), "ann"),
    ]
    write_rttm(tmp_path / "ref.rttm", turns)
    return {
        "windows": str(tmp_path / "windows.npz"),
        "reference": str(tmp_path / "ref.rttm"),
    }


def test_windows_are_read_in_order_of_time(source):
    found = load_conversations(source)["long"]
    assert [one.start for one in found.segments] == [0.75 * i for i in range(7)]
    # The window at 1.5 s has 1 s of ann and .5 of bob, that at 2.25 the reverse.
    assert found.speakers.tolist() == ["ann"] * 3 + ["bob"] * 4
    np.testing.assert_array_equal(found.X[:, 0], [0.75 * i for i in range(7)])


def test_recordings_of_few_windows_are_left_out_by_name(source):
    made = prepare_conversations(name="talks", source=source, words="Windows")["talks"]
    assert made["left_out"] == ["short"]
    assert made["recordings"] == {"long": {"seconds": 6.0, "speakers": 2}}
    assert (made["speakers"], made["segments"], made["backend"]) == (2, 7, "")
    assert made["windows"] == source["windows"]


def test_simulated_conversations_follow_from_the_seed():
    fields = {"world": {"dim": 6, "eer": 0.05}, "each": 2}
    one = draw_conversations(**fields, seed=1)
    again = draw_conversations(**fields, seed=1)
    other = draw_conversations(**fields, seed=2)
    assert list(one) == ["c1_0", "c1_1", "c2_0", "c2_1", "c3_0", "c3_1"]
    np.testing.assert_array_equal(one["c2_1"].X, again["c2_1"].X)
    assert not np.array_equal(one["c2_1"].X[:9], other["c2_1"].X[:9])
    assert {len(np.unique(c.speakers)) for n, c in one.items() if n[1] == "3"} == {3}
    for conversation in one.values():
        starts = [segment.start for segment in conversation.segments]
        assert starts == sorted(starts)


@pytest.mark.corpus
def test_the_real_conversations_are_as_their_names_say(corpus_data):
    folder = corpus_data / "conversations" / "simulated"
    found = load_conversations(
        {
            "windows": str(folder / "campplus_windows.npz"),
            "reference": str(folder / "ref.rttm"),
        }
    )
    assert len(found) == 20
    for name, conversation in found.items():
        assert len(np.unique(conversation.speakers)) == int(name[1])
