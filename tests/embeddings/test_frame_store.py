"""Frames on disk."""

import numpy as np
import pytest

from sms_diar.embeddings import FrameStore
from sms_diar.errors import InvalidParameterError


def test_what_goes_in_comes_out_again_and_again(tmp_path):
    rng = np.random.default_rng(0)
    lengths = {"a": 65_530, "b": 0, "c": 9}  # blocks have 65,536 frames
    segments = [(name, rng.standard_normal((n, 3))) for name, n in lengths.items()]
    with FrameStore(3, folder=tmp_path) as store:
        store.extend(segments[:2])
        store.extend(segments[2:])
        whole = np.concatenate([frames for _, frames in segments]).astype(np.float32)
        for _ in range(2):
            blocks = list(store)
            assert [len(block) for block in blocks] == [65_536, 3]
            np.testing.assert_array_equal(np.concatenate(blocks), whole)
        back = list(store.segments())
        assert {name: len(frames) for name, frames in back} == lengths
        np.testing.assert_array_equal(back[2][1], whole[65_530:])
        assert (len(store), store.n_frames) == (3, 65_539)
        del blocks, back
    assert list(tmp_path.iterdir()) == []


def test_frames_of_another_width_are_refused():
    with FrameStore(2) as store, pytest.raises(InvalidParameterError, match="of 'a'"):
        store.extend([("a", np.ones((4, 3)))])
