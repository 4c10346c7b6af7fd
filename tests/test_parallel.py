"""Maps on processes of this machine; tests/machines has those on a cluster."""

import warnings

from sms_diar._parallel import process_map


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
