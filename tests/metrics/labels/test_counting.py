"""Counts of clusters and speakers."""

import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import ClusterSizes, DetectedSpeakers, contingency_table


def test_sizes_of_a_small_labelling():
    clusters = [0] * 60 + [1] * 34 + [2] * 5 + [3]
    sizes = ClusterSizes.of(contingency_table([0] * 100, clusters))
    assert (sizes.n_clusters, sizes.n_major, sizes.n_singletons) == (4, 3, 1)
    assert (sizes.smallest, sizes.median, sizes.largest) == (1, 19.5, 60)


def test_average_number_of_detected_speakers():
    counts = DetectedSpeakers.of([3, 5, 4], [3, 3, 3])
    assert counts.ands == 4.0
    assert counts.mean_absolute_error == 1.0
    assert counts.share_exact == pytest.approx(1 / 3)


@pytest.mark.parametrize(("found", "true"), [([], []), ([1], [1, 2])])
def test_needs_as_many_found_as_true(found, true):
    with pytest.raises(InvalidParameterError, match="two lists of equal length"):
        DetectedSpeakers.of(found, true)
