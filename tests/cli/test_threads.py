"""Output files do not depend on the number of BLAS threads."""

import numpy as np
import pytest
import soundfile
from threadpoolctl import threadpool_info, threadpool_limits

from sms_diar.io.embeddings.files import write_embeddings
from sms_diar.types import EmbeddingSet

pytestmark = pytest.mark.usefixtures("no_networks")


@pytest.fixture(scope="module")
def recordings(one_voice, write_tables, tmp_path_factory):
    """Make two recordings of 12 s with two voices each."""
    folder = tmp_path_factory.mktemp("recordings")
    lines = []
    for number in range(2):
        samples = np.concatenate([one_voice(seed + 2 * number) for seed in (0, 1)])
        path = folder / f"r{number}.wav"
        soundfile.write(path, np.clip(samples, -1, 1), 8000)
        lines.append(f"r{number} {path}")
    return write_tables(folder, wav__scp=lines)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """Write enough vectors for multi-threaded matrix products."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.standard_normal((5, 64)), 80, axis=0)
    rows += 0.8 * rng.standard_normal(rows.shape)
    path = tmp_path_factory.mktemp("vectors") / "x.npz"
    write_embeddings(path, EmbeddingSet(tuple(map(str, range(len(rows)))), rows))
    return path


@pytest.mark.parametrize("name", ["cluster", "diarize", "features", "extract", "train"])
def test_the_threads_of_blas_do_not_change_a_file(
    run_cli, recordings, vectors, tmp_path, name
):
    few = ("--components", 8, "--rank", 1, "--iterations", 2, "--ubm-iterations", 2)
    words = {
        "cluster": ("cluster", vectors, "-o"),
        "diarize": ("diarize", recordings, "--model", "embedded", "--rttm"),
        "features": ("features", recordings, "-o"),
        "extract": ("ivectors", "extract", recordings, "--workers", 1, "-o"),
        "train": ("ivectors", "train", recordings, *few, "--workers", 1, "-o"),
    }[name]
    ending = {"extract": ".csv", "train": ".npz"}.get(name, ".txt")
    found = []
    for threads in (1, 2):
        out = tmp_path / f"{threads}{ending}"
        with threadpool_limits(limits=threads, user_api="blas"):
            used = {one["num_threads"] for one in threadpool_info()}
            assert threads in used
            done = run_cli(*words, out)
        assert done.returncode == 0, done.stderr
        found.append(out.read_bytes())
    assert found[0] == found[1]
