"""Speech label files, one per recording: start, end and label per line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sms_diar._files import write_text
from sms_diar._validation import check_path, refuse_path
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._lines import check_field, split_fields, strict_lines
from sms_diar.io.kaldi.tables import exactly
from sms_diar.timeline.ticks import format_seconds, parse_seconds
from sms_diar.types import Segment


def read_vad_lab(
    path: str | Path, recording: str, *, label: str | None = "speech"
) -> list[Segment]:
    """Read the speech regions of one recording.

    Parameters
    ----------
    path : str or Path
        File to read, which does not name its recording.
    recording : str
        Name of the recording.
    label : str or None, default="speech"
        Keep the regions with this label; None keeps all.
    """
    check_path("read_vad_lab", "path", path)
    regions = []
    others: dict[str, None] = {}
    for line in strict_lines(path):
        try:
            start, end, name = exactly(split_fields(line.text), 3, "vad.lab")
            region = Segment(
                recording,
                float(parse_seconds("start", start)),
                float(parse_seconds("end", end)),
            )
        except ValueError as error:  # also raised by Segment
            raise DataFormatError(
                str(error), path=path, line=line.number, text=line.text
            ) from error
        if label is None or name == label:
            regions.append(region)
        else:
            others[name] = None
    if others and not regions:
        listed = ", ".join(repr(other) for other in others)
        raise DataFormatError(
            f"no region is labelled {label!r}, the labels are {listed}; choose the one "
            f"for speech",
            path=path,
        )
    return regions


def write_vad_lab(
    path: str | Path, regions: Iterable[Segment], *, label: str = "speech"
) -> None:
    """Write the speech regions of one recording, sorted by time."""
    rule, remedy = "an iterable of Segment", "read it with read_vad_lab"
    refuse_path("write_vad_lab", "regions", regions, rule, remedy)
    regions = sorted(regions)
    names = sorted({region.recording for region in regions})
    if len(names) > 1:
        raise InvalidParameterError(
            f"must be of one recording, got {', '.join(names)}",
            owner="write_vad_lab",
            parameter="regions",
        )
    check_field("write_vad_lab", "label", label, format="vad.lab")
    lines = (
        f"{format_seconds(region.start)} {format_seconds(region.end)} {label}\n"
        for region in regions
    )
    write_text(path, "".join(lines))
