"""Print constraints that allow the oldest version of each dependency alone."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def oldest(requirement: str) -> str:
    """``name>=1.2`` as ``name==1.2``."""
    found = re.fullmatch(r"([\w.-]+)\s*>=\s*([\w.]+)(,.*)?", requirement)
    if found is None:
        raise SystemExit(f"pyproject.toml: '{requirement}' has no lower bound")
    return f"{found[1]}=={found[2]}"


if __name__ == "__main__":
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for line in project["project"]["dependencies"]:
        print(oldest(line))
