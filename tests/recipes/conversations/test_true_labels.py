"""Local speakers and windows that get the names of those who really speak."""

import numpy as np

from recipes.conversations.true_labels import true_activity, true_names
from sms_diar.features.local_activity import Frames, LocalActivity
from sms_diar.pipeline.diarize.global_activity import NOBODY
from sms_diar.types import Segment, Turn

CLASSES = ((), (0,), (1,), (0, 1))


def test_local_speakers_get_the_names_with_which_most_is_right():
    frames = Frames(0.1, 0.05, 10, 1.0)
    # Ann speaks for 0.4 s, then Bob for 0.6 s, the first 0.1 s of it with Ann.
    truth = [Turn(Segment("a", 0.0, 0.5), "ann"), Turn(Segment("a", 0.4, 1.0), "bob")]
    spoken = true_activity(frames, truth)
    assert spoken.T.tolist() == [[1] * 5 + [0] * 5, [0] * 4 + [1] * 6]
    # The first window calls Ann 1 and Bob 0, the second hears Bob alone, as 1.
    rows = [[2, 2, 2, 2, 3, 1], [2, 2, 2, 2, 2, 0]]
    probabilities = np.eye(4, dtype=np.float16)[np.array(rows)]
    local = LocalActivity(frames, np.array([0, 4]), probabilities, CLASSES)
    assert true_names(local, spoken).tolist() == [[1, 0], [NOBODY, 1]]


def test_a_local_speaker_whom_nobody_is_has_no_name():
    frames = Frames(0.1, 0.05, 4, 0.4)
    spoken = true_activity(frames, [Turn(Segment("a", 0.0, 0.2), "ann")])
    probabilities = np.eye(4, dtype=np.float16)[np.array([[1, 1, 2, 2]])]
    local = LocalActivity(frames, np.array([0]), probabilities, CLASSES)
    assert true_names(local, spoken).tolist() == [[0, NOBODY]]
