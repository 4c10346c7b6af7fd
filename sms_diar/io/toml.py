"""TOML, the format of settings and descriptions."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from sms_diar.errors import ConfigError
from sms_diar.io._bytes import open_file


def read_toml(path: Path) -> dict[str, Any]:
    """Read a file of TOML into plain values.

    Raises
    ------
    ConfigError
        It is not TOML, or too deep.
    """
    with open_file(path) as file:
        data = file.read()
    return parse_toml(data, str(path))


def parse_toml(data: bytes, origin: str) -> dict[str, Any]:
    """Plain values of a text of TOML; `origin` is what messages call it."""
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # that of TOML is a ValueError
        why = "too deep" if isinstance(error, RecursionError) else error
        raise ConfigError(f"{origin}: not valid TOML: {why}") from error
