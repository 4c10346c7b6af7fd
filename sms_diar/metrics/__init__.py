"""Metrics, returned as frozen results.

`diarization` scores turns, `labels` a clustering, and `verification` the scores of
pairs. Metrics are independent of clustering methods and do not import them.
"""

from sms_diar.metrics.diarization.bootstrap import (
    Comparison,
    Interval,
    compare,
    confidence_interval,
)
from sms_diar.metrics.diarization.conventions import CONVENTIONS, Convention, Settings
from sms_diar.metrics.diarization.evaluation import (
    Evaluation,
    RecordingScore,
    score_diarization,
)
from sms_diar.metrics.diarization.rates import RATES
from sms_diar.metrics.labels import (
    MAJOR_SHARE,
    ClusteringScores,
    ClusterSizes,
    ContingencyTable,
    DetectedSpeakers,
    MajorityPurity,
    Purity,
    WeightedPurity,
    contingency_table,
    score_clustering,
    score_labels,
)
from sms_diar.metrics.verification import (
    NIST_COSTS,
    DetCurve,
    DetectionCost,
    all_pairs,
    det_curve,
    equal_error_rate,
    log_likelihood_ratio_cost,
)

__all__ = [
    "CONVENTIONS",
    "MAJOR_SHARE",
    "NIST_COSTS",
    "RATES",
    "ClusterSizes",
    "ClusteringScores",
    "Comparison",
    "ContingencyTable",
    "Convention",
    "DetCurve",
    "DetectedSpeakers",
    "DetectionCost",
    "Evaluation",
    "Interval",
    "MajorityPurity",
    "Purity",
    "RecordingScore",
    "Settings",
    "WeightedPurity",
    "all_pairs",
    "compare",
    "confidence_interval",
    "contingency_table",
    "det_curve",
    "equal_error_rate",
    "log_likelihood_ratio_cost",
    "score_clustering",
    "score_diarization",
    "score_labels",
]
