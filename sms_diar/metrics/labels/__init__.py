"""Labels against the truth: how well a clustering of segments or points agrees.

::

    contingency   the count table that everything starts from
    purity        ACP, ALP/ASP, K; weighted; of majorities
    counting      how many clusters or speakers, and how large
    scores        all of these for two lists of labels: `score_clustering`
    matching      the same, and scikit-learn's, for two tables by id: `score_labels`
"""
