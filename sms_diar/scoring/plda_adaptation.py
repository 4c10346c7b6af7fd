"""Unsupervised adaptation of a PLDA model to another domain.

Where vectors of the new domain vary more than the model expects, the excess is
shared out between the two covariances; where they vary less, the model stays.
This is the method of Kaldi's ``ivector-adapt-plda``. There it is described by
two rotations and their inverses; with the generalised eigenvectors of the two
total covariances it is one formula.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from sms_diar._validation import check_not_negative
from sms_diar.errors import InvalidParameterError
from sms_diar.scoring._arrays import as_rows
from sms_diar.scoring.plda import covariances, plda_from_covariances
from sms_diar.types import PldaModel


def adapt_plda(
    model: PldaModel,
    X: npt.ArrayLike,
    *,
    within_covar_scale: float = 0.3,
    between_covar_scale: float = 0.7,
    mean_diff_scale: float = 1.0,
) -> PldaModel:
    """Adapt `model` to unlabelled vectors of another domain.

    Parameters
    ----------
    model : PldaModel
        The model of the old domain.
    X : array-like of shape (n, d)
        Vectors of the new domain; fewer than d will do.
    within_covar_scale : float, default=0.3
        Share of the excess variance that goes to the covariance within speakers.
    between_covar_scale : float, default=0.7
        Share that goes to the covariance between speakers.
    mean_diff_scale : float, default=1.0
        How much the squared difference of the two means counts as variance of
        the new domain.

    Returns
    -------
    adapted : PldaModel
        With the mean of `X`.

    Notes
    -----
    Let ``T = within + between`` be the total covariance of the model, C that of
    the new vectors around their mean, plus `mean_diff_scale` times the outer
    product of the difference of means, and ``C v = s T v`` with ``v' T v = 1``.
    Each direction with s > 1 adds ``(s - 1) (T v) (T v)'`` times the two scales to
    the two covariances.

    The method is meant for a collection of many speakers. In one recording the
    excess is mostly what separates its few speakers, and calling a third of it
    variation within speakers undoes the model: on an AMI meeting of four the area
    under the ROC fell from 0.97 to 0.64 with the default scales, and rose to 0.98
    with 0 and 1.
    """
    owner = "adapt_plda"
    to_within = check_not_negative(owner, "within_covar_scale", within_covar_scale)
    to_between = check_not_negative(owner, "between_covar_scale", between_covar_scale)
    shift = check_not_negative(owner, "mean_diff_scale", mean_diff_scale)
    rows = as_rows(owner, "X", X, model.dim)
    if not len(rows):
        raise InvalidParameterError(f"{owner}: X must hold vectors, got none")
    mean = rows.mean(axis=0)
    centred = rows - mean
    moved = mean - model.mean
    observed = centred.T @ centred / len(rows) + shift * np.outer(moved, moved)

    within, between = covariances(model)
    total = within + between
    ratios, directions = eigh(observed, total)
    images = (total @ directions) * np.sqrt(np.maximum(ratios - 1.0, 0.0))
    excess = images @ images.T
    return plda_from_covariances(
        mean, within + to_within * excess, between + to_between * excess
    )
