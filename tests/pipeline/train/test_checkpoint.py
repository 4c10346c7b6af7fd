"""Training that is interrupted goes on to the same model."""

from contextlib import contextmanager

import pytest

from sms_diar._progress import Silence
from sms_diar.errors import OutputError
from sms_diar.features.front_end import FrontEnd
from sms_diar.features.vad import VadConfig
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.pipeline.train import checkpoint
from sms_diar.pipeline.train.extraction import Speech
from sms_diar.pipeline.train.ivectors import IvectorSettings, train_ivectors
from sms_diar.pipeline.train.models import write_ivector_model

SETTINGS = IvectorSettings(n_components=3, rank=3, ubm_iter=2, tv_iter=3)
# One Gaussian takes an iteration, two take 4, three take 2; T takes 3 and a look.
ITERATIONS = 1 + 4 + 2 + 3 + 1


class Stopping(Silence):
    """Ends the work after some iterations, and remembers what was said."""

    def __init__(self, after=None):
        self.left = after
        self.said = []

    @contextmanager
    def track(self, label, total, done=0):
        def advance():
            if self.left is not None and label in _ITERATED:
                self.left -= 1
                if self.left < 0:
                    raise KeyboardInterrupt

        yield advance

    def say(self, message):
        self.said.append(message)


_ITERATED = ("background model", "total variability")


@pytest.fixture
def train(noise_corpora, tmp_path):
    speech = [Speech(DataDir(noise_corpora[0]), FrontEnd(vad=VadConfig(method="none")))]
    model = tmp_path / "model.npz"

    def run(progress=None, settings=SETTINGS, **options):
        path = checkpoint.checkpoint_path(model)
        trained = train_ivectors(
            speech, settings, progress=progress, checkpoint=path, **options
        )
        write_ivector_model(model, trained)
        checkpoint.remove_checkpoint(path)
        return model.read_bytes()

    return run


@pytest.fixture
def kept(tmp_path):
    return tmp_path / "model.npz.checkpoint"


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_a_break_after_any_iteration_changes_no_byte_of_the_model(
    train, kept, covariance
):
    settings = IvectorSettings(**{**vars(SETTINGS), "covariance": covariance})
    whole = train(settings=settings, backend=True)
    # Before the first iteration, in each part, and after the last but one.
    stops = (0, 1, 5, 7, 8, ITERATIONS - 1) if covariance == "diagonal" else (5, 8)
    for done in stops:
        with pytest.raises(KeyboardInterrupt):
            train(Stopping(done), settings)
        assert kept.exists() == (done > 0)
        listener = Stopping()
        assert train(listener, settings, backend=True, workers=1 + done % 2) == whole
        # The bar moves before the state is kept: that of the iteration before is.
        if 0 < done <= 7:
            expected = [f"background model: continues from iteration {done} of 7"]
        else:
            expected = [
                f"total variability: continues from iteration {done - 7} of 3"
            ] * (done > 7)
        assert listener.said == expected
        assert not kept.exists()


def test_what_was_reached_is_written_now_and_then(train, kept, monkeypatch):
    written = []
    good = checkpoint.write_model

    def noting(path, model):
        written.append(sorted(model.arrays))
        good(path, model)

    monkeypatch.setattr(checkpoint, "write_model", noting)
    train()  # takes less than half a minute
    assert written == []
    monkeypatch.setattr(checkpoint, "PAUSE", 0.0)
    train()
    assert len(written) == ITERATIONS - 1
    assert "matrix" in written[-1]


def test_a_checkpoint_of_other_settings_is_ignored_and_said_to_be(train, kept):
    other = IvectorSettings(**{**vars(SETTINGS), "seed": 1})
    whole = train()
    with pytest.raises(KeyboardInterrupt):
        train(Stopping(4), other)
    listener = Stopping()
    assert train(listener) == whole
    assert listener.said == [
        f"{kept}: belongs to other settings, data or versions; ignored, training "
        f"starts again"
    ]


@pytest.mark.parametrize("place", [0.1, 0.9])
def test_a_damaged_checkpoint_is_ignored_and_said_to_be(train, kept, place):
    whole = train()
    with pytest.raises(KeyboardInterrupt):
        train(Stopping(9))
    data = kept.read_bytes()
    for spoilt in (data[: int(place * len(data))], b"", _flipped(data, place)):
        kept.write_bytes(spoilt)
        listener = Stopping()
        assert train(listener) == whole
        if listener.said != ["total variability: continues from iteration 2 of 3"]:
            # A bit that changes no number, such as a date, may be flipped.
            said = f"{kept}: is damaged; ignored, training starts again"
            assert listener.said == [said]


def _flipped(data, place):
    at = int(place * len(data))
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_training_goes_on_where_no_checkpoint_can_be_written(train, monkeypatch):
    whole = train()

    def full(path, _):
        raise OutputError(f"{path}: cannot be written (No space left on device)")

    monkeypatch.setattr(checkpoint, "write_model", full)
    monkeypatch.setattr(checkpoint, "PAUSE", 0.0)
    listener = Stopping()
    assert train(listener) == whole
    assert len(listener.said) == 1
    assert listener.said[0].endswith("training continues without checkpoints")


def test_the_command_goes_on_or_starts_anew(run_cli, noise_corpora, tmp_path, kept):
    words = ("ivectors", "train", noise_corpora[0], "-o", tmp_path / "model.npz")
    words += ("--components", 2, "--rank", 2, "--vad", "none", "--workers", 1)
    assert run_cli(*words).returncode == 0
    whole = (tmp_path / "model.npz").read_bytes()
    path = checkpoint.Checkpoint._write
    with pytest.MonkeyPatch.context() as patch:

        def interrupted(self):
            path(self)
            raise KeyboardInterrupt

        patch.setattr(checkpoint, "PAUSE", 0.0)
        patch.setattr(checkpoint.Checkpoint, "_write", interrupted)
        patch.setattr("sms_diar.cli.terminal.interrupts._told", False)
        result = run_cli(*words)
    assert result.returncode == 130
    assert "run the same command again to go on from here" in result.stderr
    data = kept.read_bytes()
    result = run_cli(*words)
    assert "background model: continues from iteration 1 of 11" in result.stderr
    assert (tmp_path / "model.npz").read_bytes() == whole
    kept.write_bytes(data)
    result = run_cli(*words, "--fresh")
    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "model.npz").read_bytes() == whole


def test_devices_have_no_checkpoint_beside_them(null_device, tmp_path):
    assert checkpoint.checkpoint_path(null_device) is None
    link = tmp_path / "link.npz"
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "m.npz").touch()
    link.symlink_to(tmp_path / "there" / "m.npz")
    assert checkpoint.checkpoint_path(link) == tmp_path / "there" / "m.npz.checkpoint"
