"""Tables of labels told from files of turns by their names and first lines.

Both may be text or CSV, and commands take either.
"""

from __future__ import annotations

from pathlib import Path

from sms_diar.io._lines import scan_lines, split_fields
from sms_diar.io._turn_text import FaultError
from sms_diar.io.turn_formats import BY_SUFFIX, format_of_file
from sms_diar.io.turn_json import holds_turns, loaded


def is_label_table(path: str | Path) -> bool:
    """Whether a file gives a speaker to each id, without times.

    That is what `sms_diar.io.labels.read_labels` reads: utt2spk, JSON, and CSV
    without a column of starts.
    """
    path = Path(path)
    if not path.is_file() or path.suffix == ".gz":
        return False
    if path.suffix == ".utt2spk" or path.name == "utt2spk":
        return True
    if path.suffix in BY_SUFFIX and path.suffix not in (".json", ".csv"):
        return False
    if not path.read_bytes().strip():
        return False
    format = format_of_file(path).name
    if format == "json":
        return _is_label_json(path)
    return format in ("rttm", "csv") and _begins_with_label(path)


def _begins_with_label(path: Path) -> bool:
    for line in scan_lines(path):
        if not line.is_readable or line.text.lstrip().startswith((";", "#")):
            continue
        if path.suffix == ".csv":
            return "start" not in line.text.split(",")
        return len(split_fields(line.text)) == 2
    return False


def _is_label_json(path: Path) -> bool:
    try:
        return not holds_turns(loaded(path))
    except FaultError:  # whoever reads it will say what is wrong
        return path.suffix == ".json"
