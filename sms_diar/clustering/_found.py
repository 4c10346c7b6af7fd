"""Summary of a fitted estimator, shown in notebooks above scikit-learn's diagram."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_SIZES = 12  # maximum number of cluster sizes in a summary


class FoundMixin:
    """Mixin that adds a summary of the clusters to the notebook representation."""

    @property
    def _repr_html_(self) -> Callable[[], str]:
        # In scikit-learn this is a property, which is absent if diagrams are disabled.
        diagram: Callable[[], str] = super()._repr_html_  # type: ignore[misc]
        return lambda: found_html(self) + diagram()


def found_html(estimator: Any) -> str:
    """Summarize the clusters in one line; return an empty string before ``fit``.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> found_html(SimpleNamespace(labels_=np.array([0, 0, 1]), converged_=True))
    '<p>Found 2 clusters of 3 rows; sizes 2, 1.</p>'
    """
    labels = getattr(estimator, "labels_", None)
    if labels is None:
        return ""
    sizes = sorted(
        np.bincount(np.asarray(labels)[np.asarray(labels) >= 0]), reverse=True
    )
    listed = ", ".join(str(size) for size in sizes[:_SIZES])
    more = ", …" if len(sizes) > _SIZES else ""
    word = "cluster" if len(sizes) == 1 else "clusters"
    text = f"Found {len(sizes)} {word} of {len(labels)} rows; sizes {listed}{more}."
    if not getattr(estimator, "converged_", True):
        text += " Not all came to rest."
    return f"<p>{text}</p>"
