"""TOML files of settings and descriptions."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from sms_diar.errors import ConfigError
from sms_diar.io._bytes import open_file


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; raises ConfigError if it is not valid."""
    with open_file(path) as file:
        data = file.read()
    return parse_toml(data, str(path))


def parse_toml(data: bytes, origin: str) -> dict[str, Any]:
    """Parse TOML; `origin` is the name of the text in messages."""
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        reason = "too deep" if isinstance(error, RecursionError) else error
        raise ConfigError(f"{origin}: not valid TOML: {reason}") from error
