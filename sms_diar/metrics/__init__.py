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
from sms_diar.metrics.labels.contingency import ContingencyTable, contingency_table
from sms_diar.metrics.labels.counting import MAJOR_SHARE, ClusterSizes, DetectedSpeakers
from sms_diar.metrics.labels.matching import score_labels
from sms_diar.metrics.labels.purity import MajorityPurity, Purity, WeightedPurity
from sms_diar.metrics.labels.scores import ClusteringScores, score_clustering
from sms_diar.metrics.verification import (
    DetCurve,
    all_pairs,
    det_curve,
    equal_error_rate,
)

__all__ = [
    "CONVENTIONS",
    "MAJOR_SHARE",
    "RATES",
    "ClusterSizes",
    "ClusteringScores",
    "Comparison",
    "ContingencyTable",
    "Convention",
    "DetCurve",
    "DetectedSpeakers",
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
    "score_clustering",
    "score_diarization",
    "score_labels",
]
