"""Mean and variance normalisation of cepstra.

The frames over which mean and variance are taken decide which information is lost. The
mean of a short segment reflects its speaker, so normalising every segment by itself
makes speakers look alike. Statistics over the session, i.e. all segments that are to be
clustered together, only remove what these segments share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sms_diar._validation import check_choice, check_count, check_positive
from sms_diar.errors import InvalidParameterError
from sms_diar.types import FloatArray

METHODS = ("session", "recording", "segment", "sliding", "none")

_FLOOR = 1e-10  # lower limit of a variance, as in Kaldi
_ROWS = 1 << 13


@dataclass(frozen=True, slots=True)
class CmvnConfig:
    """Normalisation of the cepstra.

    Parameters
    ----------
    method : str, default="session"
        "session", "recording" and "segment" take mean and variance over all (speech)
        frames of a session, recording or segment; "sliding" over a window around each
        frame; "none" leaves the cepstra unchanged.
    variance : bool, default=True
        Also scale to unit variance; otherwise only the mean is subtracted.
    window : float, default=3.0
        Length of the sliding window in seconds; only for "sliding".
    """

    method: str = "session"
    variance: bool = True
    window: float = 3.0

    def __post_init__(self) -> None:
        check_choice("CmvnConfig", "method", self.method, METHODS)
        check_positive("CmvnConfig", "window", self.window)
        if not isinstance(self.variance, bool):
            problem = f"must be true or false, got {self.variance!r}"
            raise InvalidParameterError(
                problem, owner="CmvnConfig", parameter="variance"
            )


@dataclass(frozen=True, eq=False)
class CmvnStats:
    """Additive sums from which means and variances are computed.

    `total` and `squares`, of shape (d,), are the sums of `count` frames and of their
    squares.
    """

    count: int
    total: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, frames: FloatArray) -> CmvnStats:
        """Sum up the rows of a matrix of shape (n, d)."""
        return cls(len(frames), frames.sum(axis=0), np.square(frames).sum(axis=0))

    @classmethod
    def none(cls, dim: int) -> CmvnStats:
        """Return statistics of zero frames with `dim` dimensions."""
        return cls(0, np.zeros(dim), np.zeros(dim))

    def __add__(self, other: CmvnStats) -> CmvnStats:
        return CmvnStats(
            self.count + other.count,
            self.total + other.total,
            self.squares + other.squares,
        )

    def __radd__(self, other: int) -> CmvnStats:
        if other == 0:  # the start value of sum()
            return self
        return NotImplemented

    @property
    def mean(self) -> FloatArray:
        """Mean of the frames."""
        return self.total / self.count

    @property
    def deviation(self) -> FloatArray:
        """Standard deviation of each column, never zero."""
        variance = self.squares / self.count - np.square(self.mean)
        deviation: FloatArray = np.sqrt(np.maximum(variance, _FLOOR))
        return deviation

    def apply(self, frames: FloatArray, *, variance: bool = True) -> FloatArray:
        """Subtract the mean and optionally scale to unit variance."""
        centred = frames - self.mean
        return centred / self.deviation if variance else centred


def sliding_cmvn_rows(
    frames: FloatArray, rows: slice, window: int, *, variance: bool = True
) -> FloatArray:
    """Normalise some rows of (n, d) frames by a window around each of them.

    The window is centred and always contains `window` frames if there are enough; near
    the ends it is shifted inwards, like ``apply-cmvn-sliding --center=true`` in Kaldi.
    """
    check_count("sliding_cmvn_rows", "window", window)
    n = len(frames)
    indices = np.arange(rows.start, rows.stop)
    first = np.clip(indices - window // 2, 0, max(n - window, 0))
    last = np.minimum(first + window, n)
    low, high = int(first[0]), int(last[-1])
    # Cumulative sums lose precision far from their start and from zero, so they start
    # close to the rows and are taken about a common centre.
    centre = frames[low:high].mean(axis=0)
    context = frames[low:high] - centre  # shape: (high - low, d)
    count = (last - first)[:, None]
    mean = _window_sums(context, first - low, last - low) / count
    out: FloatArray = context[indices - low] - mean
    if variance:
        squares = _window_sums(np.square(context), first - low, last - low) / count
        out /= np.sqrt(np.maximum(squares - np.square(mean), _FLOOR))
    return out


def _window_sums(
    values: FloatArray,
    first: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    last: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
) -> FloatArray:
    sums = np.zeros((len(values) + 1, values.shape[1]))
    np.cumsum(values, axis=0, out=sums[1:])
    difference: FloatArray = sums[last] - sums[first]
    return difference


def row_blocks(n: int, size: int = _ROWS) -> Iterator[slice]:
    """Yield slices that cover `n` rows in order."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
