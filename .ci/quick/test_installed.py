"""Quick tests of an installed wheel, run away from the checkout."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import sms_diar


def command(*words):
    return subprocess.run(
        [sys.executable, "-m", "sms_diar", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_wheel_is_what_is_imported():
    folder = Path(sms_diar.__file__).parent
    assert "site-packages" in folder.parts
    assert (folder / "py.typed").is_file()


def test_the_sample_conversation_is_diarized_and_scored(tmp_path):
    sample = Path(sms_diar.__file__).parent / "datasets" / "conversation"
    out = tmp_path / "found.rttm"
    done = command("diarize", f"{sample}.ogg", "--model", "embedded", "--rttm", out)
    assert done.returncode == 0, done.stderr
    assert len({turn.speaker for turn in sms_diar.read_rttm(out)}) > 1
    scored = command("score", f"{sample}.rttm", out, "--overall")
    assert scored.returncode == 0, scored.stderr
    assert "DER" in scored.stdout


def test_a_small_npz_is_clustered(tmp_path):
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 20)
    means = 3 * np.eye(2, 8)
    vectors = means[truth] + 0.1 * rng.standard_normal((40, 8))
    path = tmp_path / "x.npz"
    np.savez(path, ids=[f"s{i:02d}" for i in range(40)], vectors=vectors)
    done = command("cluster", path)
    assert done.returncode == 0, done.stderr
    found = [line.split()[-1] for line in done.stdout.splitlines()]
    assert len(found) == 40
    assert len(set(found)) == 2
    assert len(set(zip(truth, found, strict=True))) == 2


def test_a_recipe_runs_in_worker_processes(tmp_path):
    small = {"runs": 2, "repetitions": 2, "figures": "false", "search.runs": 1}
    small |= {"sets": '["set1"]', "sweeps.sizes": "[20, 40]", "sweeps.clusters": "[3]"}
    small |= {"sweeps.dimensions": "[2]", "sweeps.ratios": "[2.0]"}
    words = [part for key in small for part in ("--set", f"{key}={small[key]}")]
    done = command("run", "synthetic", "--exp", tmp_path, "--workers", 2, *words)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report" / "results.json").is_file()


def test_our_recipes_come_along():
    done = command("recipes")
    assert done.returncode == 0, done.stderr
    assert "synthetic" in done.stdout
