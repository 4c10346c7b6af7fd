"""Clustering across recordings: ``sms-diar cluster --across``.

All recordings are clustered together as one session. The recording of each segment is
looked up, so that the result can list the speakers who appear in several recordings.
"""

from __future__ import annotations

from collections.abc import Mapping

from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.clustering.speakers.fragments import SpeakerFragmentMeanShift
from sms_diar.errors import InvalidParameterError
from sms_diar.types import EmbeddingSet, Segment

MANY = 10_000
"""Total number of vectors above which the default method works in blocks, also if there
is a PLDA model, whose evidence of whole partitions would take too long."""


def recordings_of(
    embeddings: EmbeddingSet,
    segments: Mapping[str, Segment] | None,
    given: Mapping[str, str] | None = None,
) -> dict[str, str] | None:
    """Return the recording of each id: as specified, or as in its segment."""
    if given is not None:
        missing = [name for name in embeddings.ids if name not in given]
        if missing:
            raise InvalidParameterError(
                f"recordings: must list all ids of {embeddings.source}, got none for "
                f"{len(missing)} of {len(embeddings)} (first {missing[0]!r})"
            )
        return {name: given[name] for name in embeddings.ids}
    if segments is None:
        return None
    return {name: segments[name].recording for name in embeddings.ids}


def for_many(estimator: SpeakerEstimator) -> SpeakerEstimator:
    """Return the default method for very many vectors, with the same parameters."""
    given = estimator.get_params(deep=False)
    names = SpeakerFragmentMeanShift().get_params(deep=False)
    return SpeakerFragmentMeanShift(**{name: given[name] for name in names})
