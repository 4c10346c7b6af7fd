"""Times that are part of ids, as Kaldi's scripts write them for windows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sms_diar.types import Segment

# Recording, then start and end in hundredths of a second, of equal length.
_FORM = re.compile(r"(.+)-(\d{5,10})-(\d{5,10})")


def times_of_ids(ids: Sequence[str]) -> dict[str, Segment] | None:
    """Segments of ids of the form ``recording-start-end``.

    Parameters
    ----------
    ids : sequence of str
        All of a session.

    Returns
    -------
    segments : dict or None
        None unless all ids have the form, with numbers of one length and ends behind
        starts: a part of a name that looks like a number is no time.

    Examples
    --------
    >>> times_of_ids(["call-00000150-00000300"])
    {'call-00000150-00000300': Segment(recording='call', start=1.5, end=3.0)}
    >>> times_of_ids(["spk1-utt2"]) is None
    True
    """
    found = {}
    for name in ids:
        match = _FORM.fullmatch(name)
        if match is None or len(match[2]) != len(match[3]):
            return None
        start, end = int(match[2]), int(match[3])
        if end <= start:
            return None
        found[name] = Segment(match[1], start / 100.0, end / 100.0)
    return found or None
