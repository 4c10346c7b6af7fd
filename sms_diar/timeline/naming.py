"""Names of speakers: ``spk-01``, ``spk-02`` and so on.

A name identifies a person within one recording. Where several recordings share a file,
the name of the recording precedes it (``monday-spk-01``), so that equal names mean the
same person. Linked speakers need no such prefix.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from itertools import count

import numpy as np
import numpy.typing as npt

from sms_diar._validation import refuse_path
from sms_diar.errors import InvalidParameterError


def name_speakers(
    labels: Sequence[Hashable] | npt.NDArray[np.integer],
    *,
    durations: npt.ArrayLike | None = None,
    prefix: str = "spk-",
    taken: Collection[str] = (),
) -> list[str]:
    """Name the speaker of each segment.

    Parameters
    ----------
    labels : sequence of length n
        Speaker of each segment in any form; the values are only compared.
    durations : array-like of length n, optional
        Seconds of each segment. The speaker with the longest total speech is
        then number 1; equal totals count by first appearance, as all do without
        durations.
    prefix : str, default="spk-"
        Text before the number.
    taken : collection of str
        Names that are not given.

    Returns
    -------
    names : list of str
        Name for each segment; numbers have two digits, or more if needed, so
        that names sort like numbers.

    Examples
    --------
    >>> name_speakers([7, 7, 0])
    ['spk-01', 'spk-01', 'spk-02']
    >>> name_speakers([7, 7, 0], durations=[1.0, 1.0, 5.0])
    ['spk-02', 'spk-02', 'spk-01']
    """
    rule, remedy = "a sequence of labels", "read it with read_labels"
    refuse_path("name_speakers", "labels", labels, rule, remedy)
    listed = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    order = list(dict.fromkeys(listed))
    if durations is not None:
        seconds = np.asarray(durations, dtype=np.float64)
        if seconds.shape != (len(listed),):
            raise InvalidParameterError(
                f"name_speakers: durations must be one number for each of "
                f"{len(listed)} labels, got shape {seconds.shape}"
            )
        if not (np.isfinite(seconds) & (seconds >= 0.0)).all():
            raise InvalidParameterError(
                "name_speakers: durations must be finite and >= 0"
            )
        total = dict.fromkeys(order, 0.0)
        for label, length in zip(listed, seconds.tolist(), strict=True):
            total[label] += length
        order.sort(key=lambda label: -total[label])  # stable: ties keep their order
    width = max(2, len(str(len(order))))
    numbered = (f"{prefix}{number:0{width}d}" for number in count(1))
    free = (name for name in numbered if name not in taken)
    names = dict(zip(order, free, strict=False))
    return [names[label] for label in listed]


def name_in_recording(recording: str, name: str) -> str:
    """Name of a speaker among speakers of other recordings."""
    return f"{recording}-{name}"
