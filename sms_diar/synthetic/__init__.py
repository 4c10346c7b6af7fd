"""Generators with known truth."""

from sms_diar.synthetic.gaussians import (
    PAPER_MEANS,
    PAPER_SETS,
    Sample,
    draw_corner_means,
    draw_gaussians,
    draw_lattice_means,
)

__all__ = [
    "PAPER_MEANS",
    "PAPER_SETS",
    "Sample",
    "draw_corner_means",
    "draw_gaussians",
    "draw_lattice_means",
]
