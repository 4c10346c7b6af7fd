"""Digests by which changed methods are run again."""

import pytest

from benchmarks.compare.program import program_digest, program_digests

PROGRAM = '''"""Says one thing."""

LIMIT = 3


def double(x):
    """Twice."""
    return 2 * x  # cheap
'''


def test_words_do_not_change_the_digest_of_a_program():
    other = PROGRAM.replace("one thing", "another").replace("cheap", "dear")
    other = other.replace('    """Twice."""\n', "")
    assert program_digest(other) == program_digest(PROGRAM)


@pytest.mark.parametrize(("old", "new"), [("LIMIT = 3", "LIMIT = 4"), ("2 * x", "x")])
def test_code_does(old, new):
    changed = PROGRAM.replace(old, new)
    assert program_digest(changed) != program_digest(PROGRAM)


def test_methods_scores_and_draws_have_digests():
    assert {
        "sms_diar/clustering/speakers/evidence.py",
        "sms_diar/scoring/plda.py",
        "benchmarks/compare/peers.py",
        "recipes/_common/sessions.py",
    } <= set(program_digests())
