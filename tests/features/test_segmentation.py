"""The segmenter, with a network that nobody trained."""

import numpy as np

from sms_diar.features.segmentation import PyanNetSegmenter, Segmenter, load_segmenter
from sms_diar.networks.pyannet import CLASSES


class Levels:
    """Stands in for the network: one frame with the level of the window."""

    classes = CLASSES

    def log_probabilities(self, windows):
        assert len(windows) <= 8
        return np.repeat(windows.mean(axis=1)[:, None, None], 7, axis=2)


def test_windows_keep_their_order_for_any_number_of_threads():
    segmenter = PyanNetSegmenter(Levels(), "0" * 16)
    windows = np.arange(20.0)[:, None] * np.ones(1000)
    for workers in (1, 3):
        found = segmenter.log_probabilities(windows, workers=workers)
        assert found.shape == (20, 1, 7)
        assert found[:, 0, 0].tolist() == list(range(20))


def test_the_segmenter_says_where_its_frames_lie():
    segmenter = PyanNetSegmenter(Levels(), "0" * 16)
    assert isinstance(segmenter, Segmenter)
    assert segmenter.frame_step == 270 / 16000
    assert segmenter.frame_offset == 991 / 2 / 16000
    assert len(segmenter.classes) == 7
    # the last frame of 10 s lies within them, one more would not
    end = segmenter.frame_offset + 588 * segmenter.frame_step
    assert end < 10.0 - segmenter.frame_offset < end + segmenter.frame_step


def test_speech_and_silence_are_told_apart(stored_network, one_voice):
    stored_network("segmentation")
    from scipy.signal import resample_poly

    samples = resample_poly(one_voice(1), 2, 1)
    segmenter = load_segmenter()
    values = segmenter.log_probabilities(np.stack([np.zeros(160000), np.zeros(160000)]))
    assert (values[0] == values[1]).all()
    assert (np.exp(values[0, :, 0]) > 0.5).all()
    found = segmenter.log_probabilities(samples[None])
    assert np.isfinite(found).all()
    np.testing.assert_allclose(np.exp(found).sum(axis=2), 1.0, atol=1e-5)


def test_the_second_segmenter_hears_speech_in_windows_of_five_seconds(
    stored_network, one_voice
):
    stored_network("segmentation-2022")
    from scipy.signal import resample_poly

    segmenter = load_segmenter("segmentation-2022")
    assert (segmenter.window, len(segmenter.classes)) == (5.0, 8)
    voice = resample_poly(one_voice(1), 2, 1)[:80000]
    silence, spoken = np.exp(segmenter.log_probabilities(np.stack([0 * voice, voice])))
    np.testing.assert_allclose(spoken.sum(axis=1), 1.0, atol=1e-5)
    assert (silence[:, 0] > 0.5).all()
    assert (spoken[:, 0] < 0.5).mean() > 0.5
