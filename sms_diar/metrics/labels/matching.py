"""Score labels of segments, matched with true labels by id."""

from __future__ import annotations

from collections.abc import Mapping

from sms_diar.errors import InvalidParameterError
from sms_diar.metrics.labels.scores import score_clustering


def score_labels(
    truth: Mapping[str, str], labels: Mapping[str, str]
) -> dict[str, float]:
    """Compute all clustering metrics on the segments that both sides have.

    Parameters
    ----------
    truth, labels : mapping
        Speaker of each segment id.

    Returns
    -------
    figures : dict
        Metrics of `sms_diar.metrics.ClusteringScores`, and ARI, NMI, homogeneity,
        completeness and V-measure as defined by scikit-learn.
    """
    for name, side in (("truth", truth), ("labels", labels)):
        if not isinstance(side, Mapping):
            raise InvalidParameterError(
                f"must be a mapping from id to speaker, got {side!r}; "
                f"sms_diar.score_labels takes paths",
                owner="score_labels",
                parameter=name,
            )
    shared = [name for name in truth if name in labels]
    if not shared:
        raise InvalidParameterError(
            f"truth and labels must share ids, got {len(truth)} and {len(labels)} ids "
            f"and none in both",
            owner="score_labels",
        )
    # Importing scikit-learn takes longer than scoring.
    from sklearn import metrics  # noqa: PLC0415

    true = [truth[name] for name in shared]
    found = [labels[name] for name in shared]
    homogeneity, completeness, v = metrics.homogeneity_completeness_v_measure(
        true, found
    )
    return score_clustering(true, found).as_dict() | {
        "n_segments": len(shared),
        "n_labels": len(set(true)),
        "ari": float(metrics.adjusted_rand_score(true, found)),
        "nmi": float(metrics.normalized_mutual_info_score(true, found)),
        "homogeneity": float(homogeneity),
        "completeness": float(completeness),
        "v_measure": float(v),
    }
