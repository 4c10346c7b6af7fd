"""The suite leaves nothing behind on the machine that runs it."""

import os
import subprocess
import sys


def test_folders_of_scikit_learn_go_with_the_session(tmp_path, root):
    """Nothing runs when this Python exits, as in a worker that is ended."""
    (tmp_path / "ended.py").write_text("import atexit\natexit.register = print\n")
    (temporary := tmp_path / "temporary").mkdir()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "ended", "-p", "no:cacheprovider"),
            *("-q", "tests/test_estimator_checks.py"),
            *("-k", "LengthNorm and check_readonly_memmap_input"),
        ],
        cwd=root,
        env=os.environ | {"TMPDIR": str(temporary), "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout
    left = [path.name for path in temporary.iterdir()]
    assert [name for name in left if not name.startswith("pytest-of-")] == []
