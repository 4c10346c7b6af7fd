"""Names for clusters: ``spk-01``, ``spk-02`` and so on."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from sms_diar._validation import refuse_path
from sms_diar.errors import InvalidParameterError


def name_speakers(
    labels: Sequence[Hashable] | npt.NDArray[np.integer],
    *,
    durations: npt.ArrayLike | None = None,
    prefix: str = "spk-",
) -> list[str]:
    """Name the cluster of each segment.

    Parameters
    ----------
    labels : sequence of length n
        Cluster of each segment; the values are only compared.
    durations : array-like of length n, optional
        Seconds of each segment. The speaker with the longest total speech is
        then number 1; equal totals count by first appearance, as all do without
        durations.
    prefix : str, default="spk-"
        What stands before the number.

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
    names = {
        label: f"{prefix}{number:0{width}d}"
        for number, label in enumerate(order, start=1)
    }
    return [names[label] for label in listed]
