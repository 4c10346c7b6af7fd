"""Random generators: independent streams that do not depend on the order of use.

A repetition of an experiment is identified by names, not by a count. Its stream depends
on the seed of the run and on these names, so results are the same for any number of
workers and for any order in which they finish.
"""

from __future__ import annotations

import hashlib

import numpy as np

from sms_diar.types import RandomState


def named_generator(seed: int, *names: str | int) -> np.random.Generator:
    """Return the generator for `names` in the run with the given seed.

    >>> a = named_generator(1, "set1", 0).integers(1000)
    >>> b = named_generator(1, "set1", 1).integers(1000)
    >>> a == named_generator(1, "set1", 0).integers(1000), a == b
    (np.True_, np.False_)
    """
    text = "\x1f".join(str(name) for name in names)
    digest = hashlib.sha256(text.encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.default_rng([seed, *words])


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Convert a ``random_state`` as in scikit-learn to a Generator.

    An int always gives the same stream; a Generator is used (and advanced) directly; a
    legacy ``RandomState`` seeds a new Generator with one of its draws.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1))
    return np.random.default_rng(random_state)
