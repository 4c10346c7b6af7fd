"""Names of methods in the paper and in the registry.

The paper's tables say MS and SMS, for points and for speakers. Measured rows use the
names of `sms_diar.clustering.methods`, printed rows the names of the paper.
"""

from __future__ import annotations

SPEAKER_METHODS = {"MS": "ms", "BMS": "bms", "SMS": "sms-paper", "DSMS": "dsms"}
POINT_METHODS = {
    "MS": "points-ms",
    "BMS": "points-bms",
    "SMS": "points-sms",
    "DSMS": "points-dsms",
}
"""Methods for speakers and for points, by their names in the paper."""

_PAPER = {
    name: printed
    for family in (SPEAKER_METHODS, POINT_METHODS)
    for printed, name in family.items()
}


def paper_name(method: str) -> str:
    """Return the name of a method in the paper, or the name itself if it has none.

    Streams of random numbers also have these names; renaming them would change
    published figures.

    Examples
    --------
    >>> paper_name("sms-paper"), paper_name("points-sms"), paper_name("sms")
    ('SMS', 'SMS', 'sms')
    """
    return _PAPER.get(method, method)
