"""Generators of data with known ground truth."""

from sms_diar.synthetic.gaussians import (
    PAPER_MEANS,
    PAPER_SETS,
    Sample,
    draw_corner_means,
    draw_gaussians,
    draw_lattice_means,
)
from sms_diar.synthetic.plda_world import PldaWorld, Session

__all__ = [
    "PAPER_MEANS",
    "PAPER_SETS",
    "PldaWorld",
    "Sample",
    "Session",
    "draw_corner_means",
    "draw_gaussians",
    "draw_lattice_means",
]
