"""Maps on processes of this machine; tests/machines has those on a cluster."""

import warnings

import pytest

from sms_diar._parallel import ordered_map, process_map


def test_workers_that_grow_are_replaced_even_where_warnings_are_errors():
    def grow(number):  # or so the pool is made to believe, after each piece of work
        from joblib.externals.loky import process_executor

        process_executor._MEMORY_LEAK_CHECK_DELAY = 0.0
        process_executor._MAX_MEMORY_LEAK_SIZE = -float("inf")
        return number

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ordered in (True, False):
            found = process_map(grow, range(12), workers=2, ordered=ordered, held=2)
            assert sorted(found) == list(range(12))


@pytest.mark.parametrize("workers", [1, 2])
def test_threads_draw_a_few_items_ahead_and_yield_results_in_order(workers):
    drawn = []

    def items():
        for number in range(20):
            drawn.append(number)
            yield number

    results = ordered_map(lambda number: 10 * number, items(), workers=workers)
    for count, result in enumerate(results, start=1):
        assert result == 10 * (count - 1)
        assert len(drawn) - count <= 3 * workers
    assert len(drawn) == 20
