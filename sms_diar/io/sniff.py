"""Tables of labels told from files of turns by their names and first lines.

Both may be text or CSV, and commands take either.
"""

from __future__ import annotations

from pathlib import Path

from sms_diar.io._lines import scan_lines, split_fields

_LABEL_SUFFIXES = (".json", ".utt2spk")
_TURN_SUFFIXES = (".rttm", ".ctm")


def is_label_table(path: str | Path) -> bool:
    """Whether a file gives a speaker to each id, without times.

    That is what `sms_diar.io.labels.read_labels` reads: utt2spk, JSON, and CSV
    without a column of starts.
    """
    path = Path(path)
    if not path.is_file() or path.suffix in _TURN_SUFFIXES:
        return False
    if path.suffix in _LABEL_SUFFIXES or path.name == "utt2spk":
        return True
    for line in scan_lines(path):
        if not line.is_readable or line.text.lstrip()[0] in ";#":
            continue
        if path.suffix == ".csv":
            return "start" not in line.text.split(",")
        return len(split_fields(line.text)) == 2
    return False
