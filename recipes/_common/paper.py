"""Names of methods in the paper and in the registry.

Its tables print MS and SMS; the method depends on whether points or speakers are
clustered. Measured rows carry names of `sms_diar.clustering.methods`, printed ones the
paper's.
"""

from __future__ import annotations

SPEAKER_METHODS = {"MS": "ms", "BMS": "bms", "SMS": "sms-paper", "DSMS": "dsms"}
POINT_METHODS = {
    "MS": "points-ms",
    "BMS": "points-bms",
    "SMS": "points-sms",
    "DSMS": "points-dsms",
}
"""Methods of the paper's families by the paper's names."""

_PAPER = {
    name: printed
    for family in (SPEAKER_METHODS, POINT_METHODS)
    for printed, name in family.items()
}


def paper_name(method: str) -> str:
    """Return the name of a method in the paper, or its own name.

    Streams of random numbers are called so, too: that is what figures of earlier
    versions were drawn with.

    Examples
    --------
    >>> paper_name("sms-paper"), paper_name("points-sms"), paper_name("sms")
    ('SMS', 'SMS', 'sms')
    """
    return _PAPER.get(method, method)
