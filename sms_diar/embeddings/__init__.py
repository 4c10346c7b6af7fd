"""Embeddings of segments: i-vectors and neural networks."""

from sms_diar.embeddings.extractor import IvectorExtractor
from sms_diar.embeddings.frame_store import FrameStore
from sms_diar.embeddings.mixture import GaussianMixture
from sms_diar.embeddings.statistics import Statistics, collect_statistics
from sms_diar.embeddings.total_variability import Ivectors, TotalVariability
from sms_diar.embeddings.total_variability_training import (
    TotalVariabilityFit,
    train_total_variability,
)
from sms_diar.embeddings.ubm import UbmFit, UbmStep, train_ubm

__all__ = [
    "FrameStore",
    "GaussianMixture",
    "IvectorExtractor",
    "Ivectors",
    "Statistics",
    "TotalVariability",
    "TotalVariabilityFit",
    "UbmFit",
    "UbmStep",
    "collect_statistics",
    "train_total_variability",
    "train_ubm",
]
