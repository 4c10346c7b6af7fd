"""Metrics that compare a clustering of segments or points with true labels.

::

    contingency   table of counts from which all metrics are computed
    purity        ACP, ALP/ASP and K; weighted purity; majority purity
    counting      numbers and sizes of clusters, numbers of speakers
    scores        all of these for two lists of labels: `score_clustering`
    matching      these and scikit-learn's metrics for two tables by id: `score_labels`
"""
