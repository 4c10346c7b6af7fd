"""Check that sdist and wheel hold what they must, and nothing that they must not."""

import sys
import tarfile
import zipfile
from pathlib import Path

NEEDED = (
    "sms_diar/py.typed",
    "sms_diar/datasets/conversation.ogg",
    "sms_diar/datasets/conversation.rttm",
    "sms_diar/datasets/ivectors_8k.npz",
    "sms_diar/report/page/page.js",
)
CHECKOUT_ONLY = ("recipes/", "benchmarks/", "tests/")
UNWANTED = (".nbi", ".nbc", ".pyc", ".log", "/.venv/", "/exp/", "/.lock", "/site.toml")


def problems(path: Path) -> list[str]:
    """What is wrong with an archive."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
        shipped = ("_recipes/synthetic/run.py", "_conf/small.toml")
        needed = (*NEEDED, *(f"sms_diar/{name}" for name in shipped))
        unwanted = tuple(f"/{folder}" for folder in CHECKOUT_ONLY)
    else:
        with tarfile.open(path) as archive:
            names = [name.partition("/")[2] for name in archive.getnames()]
        needed = (*NEEDED, "recipes/synthetic/run.py", "conftest.py", "LICENSE")
        unwanted = ()
    found = [f"{path.name}: lacks {name}" for name in needed if name not in names]
    found += [
        f"{path.name}: should not have {name}"
        for name in names
        if any(part in f"/{name}" for part in UNWANTED)
        or f"/{name}".startswith(unwanted)
    ]
    return found


if __name__ == "__main__":
    wrong = [line for name in sys.argv[1:] for line in problems(Path(name))]
    if wrong:
        raise SystemExit("\n".join(wrong))
