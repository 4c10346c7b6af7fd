"""Clustering of the windows of one recording."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from sms_diar._progress import Progress
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.pipeline.cluster import cluster_embeddings
from sms_diar.pipeline.clustering import Clustering
from sms_diar.types import EmbeddingSet, Segment


def cluster_windows(
    embeddings: EmbeddingSet,
    estimator: SpeakerEstimator,
    windows: Mapping[str, Segment],
    *,
    max_memory: int | None = None,
    progress: Progress | None = None,
) -> tuple[Clustering, list[str]]:
    """Cluster the windows of a recording.

    Parameters
    ----------
    embeddings : EmbeddingSet
        A vector for each window.
    estimator : SpeakerEstimator
        Clusters them, with the back end that it was given.
    windows : mapping from str to Segment
        Where they lie, by their ids.
    max_memory : int, optional
        Bytes that the program may take.
    progress : Progress, optional
        Receives progress.

    Returns
    -------
    clustering : Clustering
        Of one session.
    notes : list of str
        Warnings. Doubts are left to the caller, who may change the number of
        speakers.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clustering = cluster_embeddings(
            embeddings,
            estimator,
            segments=windows,
            per_recording=True,
            max_memory=max_memory,
            progress=progress,
        )
    return clustering, [f"warning: {warning.message}" for warning in caught]
