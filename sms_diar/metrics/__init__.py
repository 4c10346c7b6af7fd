"""Labels to frozen results.

Judges do not know the accused: nothing here imports a clustering method.
"""

from sms_diar.metrics.contingency import ContingencyTable, contingency_table
from sms_diar.metrics.counting import MAJOR_SHARE, ClusterSizes, DetectedSpeakers
from sms_diar.metrics.purity import MajorityPurity, Purity, WeightedPurity
from sms_diar.metrics.scores import ClusteringScores, score_clustering

__all__ = [
    "MAJOR_SHARE",
    "ClusterSizes",
    "ClusteringScores",
    "ContingencyTable",
    "DetectedSpeakers",
    "MajorityPurity",
    "Purity",
    "WeightedPurity",
    "contingency_table",
    "score_clustering",
]
