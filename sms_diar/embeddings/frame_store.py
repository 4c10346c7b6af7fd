"""Temporary file with the frames of many segments, for repeated reading.

Training passes over all frames about forty times. The audio is decoded only once; the
frames are stored on disk as ``float32`` and memory-mapped, so that the operating system
caches as much as fits. Ten hours of speech take 0.9 GB.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from sms_diar.embeddings.statistics import Segments
from sms_diar.errors import InvalidParameterError
from sms_diar.types import AnyArray

_PIECE = 1 << 16  # number of frames per iteration step


class FrameStore:
    """Segments on disk, in the order in which they were added.

    Iteration yields blocks of frames, as expected by `train_ubm`; `segments` yields ids
    and frames, as expected by `collect_statistics`. The file is deleted at the end of
    the ``with`` block.

    Parameters
    ----------
    dim : int
        Dimension of the frames.
    folder : Path or str, optional
        Folder of the file; the system's temporary folder by default.

    Examples
    --------
    >>> with FrameStore(2) as store:
    ...     store.extend([("a", np.ones((3, 2))), ("b", np.zeros((1, 2)))])
    ...     len(store), store.n_frames, [len(block) for block in store]
    (2, 4, [4])
    """

    def __init__(self, dim: int, *, folder: Path | str | None = None) -> None:
        self.dim = dim
        self.ids: list[str] = []
        self._ends: list[int] = [0]
        self._digest = hashlib.sha256()
        self._file = tempfile.TemporaryFile(dir=folder, prefix="sms-diar-frames-")  # noqa: SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_frames(self) -> int:
        """Total number of frames."""
        return self._ends[-1]

    @property
    def fingerprint(self) -> str:
        """Sixty-four hexadecimal digits that identify ids and frames."""
        return self._digest.hexdigest()

    def extend(self, segments: Segments) -> None:
        """Append segments."""
        for name, frames in segments:
            if frames.ndim != 2 or frames.shape[1] != self.dim:
                raise InvalidParameterError(
                    f"frames of {name!r} must be of shape (n, {self.dim}), got "
                    f"{frames.shape}",
                    owner="FrameStore",
                )
            data = np.ascontiguousarray(frames, dtype=np.float32).tobytes()
            self._digest.update(f"{name!r} {len(frames)} ".encode())
            self._digest.update(data)
            self._file.write(data)
            self.ids.append(name)
            self._ends.append(self._ends[-1] + len(frames))

    def __iter__(self) -> Iterator[AnyArray]:
        frames = self._mapped()
        for start in range(0, self.n_frames, _PIECE):
            yield frames[start : start + _PIECE]

    def segments(self) -> Iterator[tuple[str, AnyArray]]:
        """Yield ids and frames of all segments."""
        frames = self._mapped()
        for row, name in enumerate(self.ids):
            yield name, frames[self._ends[row] : self._ends[row + 1]]

    def _mapped(self) -> AnyArray:
        if not self.n_frames:  # an empty file cannot be mapped
            return np.empty((0, self.dim), dtype=np.float32)
        self._file.flush()
        shape = (self.n_frames, self.dim)
        return np.memmap(self._file, dtype=np.float32, mode="r", shape=shape)
