"""Where the corpora are that do not come with the package.

Studies name a corpus; where it lies differs from machine to machine. In this order:
a setting of the recipe, the environment variable ``SMS_DIAR_DATA``, the key ``data``
of ``conf/site.toml`` in the working directory, and ``../shared/data`` beside it.
"""

from __future__ import annotations

import os
from pathlib import Path

from sms_diar.errors import ConfigError, MissingFileError
from sms_diar.io.toml import read_toml

VARIABLE = "SMS_DIAR_DATA"
SITE = Path("conf") / "site.toml"
BESIDE = Path("..") / "shared" / "data"


def corpora_folder(setting: str = "") -> Path:
    """Folder of the corpora; it must be there.

    Parameters
    ----------
    setting : str, default=""
        Goes before anything else, unless it is empty.
    """
    folder = corpora_place(setting)
    if not folder.is_dir():
        raise MissingFileError(
            f"{folder}: no such folder of corpora; name it by the setting 'data', by "
            f'{VARIABLE}, or by data = "..." in {SITE} (see conf/site.example.toml)'
        )
    return folder


def corpora_place(setting: str = "") -> Path:
    """Where the corpora would be, whether or not they are; see `corpora_folder`."""
    named = setting or os.environ.get(VARIABLE) or _site()
    return Path(named) if named else BESIDE


def _site() -> str:
    """Folder that the settings of this machine name; empty for none."""
    if not SITE.is_file():
        return ""
    content = read_toml(SITE)
    data = content.pop("data", "")
    if content:
        raise ConfigError(
            f"{SITE}: unknown key '{next(iter(content))}'; did you mean 'data'? Valid "
            f"keys: data"
        )
    if not isinstance(data, str):
        raise ConfigError(f"{SITE}: 'data' must be a text, got {data!r}")
    return data
