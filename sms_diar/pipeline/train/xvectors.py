"""X-vector networks of Kaldi's recipes, and x-vectors of a data directory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from sms_diar._parallel import ordered_map
from sms_diar._progress import Progress, Silence
from sms_diar._validation import check_choice
from sms_diar.embeddings.xvectors import XvectorExtractor
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.features.extract import features_of_segments
from sms_diar.features.frames import Frames, without_problems
from sms_diar.features.kaldi import (
    KaldiDeltas,
    KaldiFrontEnd,
    KaldiMfcc,
    KaldiVad,
    kaldi_cmvn,
)
from sms_diar.io._lines import read_text
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.nnet3 import read_nnet3
from sms_diar.networks.nnet3 import Nnet3Network
from sms_diar.networks.store import file_digest
from sms_diar.pipeline.train.extraction import (
    check_front_end,
    count_segments,
    counted,
)
from sms_diar.pipeline.train.kaldi import KaldiFolder
from sms_diar.timeline.windows import WindowLayout, sliding_windows
from sms_diar.types import EmbeddingSet, Problem, Segment

CMVN_SCOPES = ("segment", "window", "none")
"""Normalise each segment before windows are cut, each window, or nothing."""


@dataclass(frozen=True)
class XvectorFiles(KaldiFolder):
    """Files of an x-vector network of Kaldi.

    Parameters
    ----------
    folder : str or Path
        Folder with ``final.raw`` and ``extract.config``, or with ``final.ext.raw``,
        and with ``mfcc.conf`` and ``vad.conf`` in it or in its subfolder ``conf``.
        ``min_chunk_size`` and ``max_chunk_size`` may be missing.
    nnet, extract_config, mfcc_config, vad_config : str or Path, optional
        Other paths of these files.
    """

    nnet: str | Path | None = None
    extract_config: str | Path | None = None
    mfcc_config: str | Path | None = None
    vad_config: str | Path | None = None

    def front_end(self, *, vad: bool = True) -> KaldiFrontEnd:
        """Read the front end, with or without speech detection."""
        return KaldiFrontEnd(
            KaldiMfcc.read(self.require("mfcc_config", "mfcc.conf")),
            KaldiVad.read(self.require("vad_config", "vad.conf")) if vad else None,
            KaldiDeltas(delta_order=0),
        )

    def read(
        self,
        front_end: KaldiFrontEnd | None = None,
        *,
        output_node: str | None = None,
        chunk_size: int | None = None,
        min_chunk_size: int | None = None,
    ) -> XvectorExtractor:
        """Read the network.

        The output is `output_node`, or the one of ``extract.config``, or in
        ``final.ext.raw`` the node ``output``. `front_end` is for the fingerprint, which
        depends on the cepstra and not on the selection of frames, so that a back end
        fits segments and windows. See `XvectorExtractor` for the others; by default,
        chunks have the sizes in the files ``max_chunk_size`` and ``min_chunk_size``, or
        10000 and 25.
        """
        config = self.find("extract_config", "extract.config")
        path = self._network(has_output=config is not None or output_node is not None)
        model = read_nnet3(path)
        if output_node not in (None, "output"):
            model = model.with_output(output_node)
        elif config is not None and output_node is None:
            model = model.with_config(config)
        most, least = self._size("max_chunk_size"), self._size("min_chunk_size")
        if most and chunk_size and chunk_size > most:
            problem = f"must be at most {most} for this network, got {chunk_size}"
            raise InvalidParameterError(
                problem, owner="XvectorFiles", parameter="chunk_size"
            )
        return XvectorExtractor(
            Nnet3Network(model),
            chunk_size=(most or 10000) if chunk_size is None else chunk_size,
            min_chunk_size=(least or 25) if min_chunk_size is None else min_chunk_size,
            identity={
                "network": file_digest(path),
                "output": repr(model.nodes["output"].terms),
                "mfcc": None if front_end is None else asdict(front_end.mfcc),
            },
        )

    def _network(self, *, has_output: bool) -> Path:
        if self.nnet is not None:
            return Path(self.nnet)
        extracting = Path(self.folder) / "final.ext.raw"
        path = Path(self.folder) / "final.raw"
        if extracting.is_file() and not (path.is_file() and has_output):
            return extracting
        if not has_output:
            self.require("extract_config", "extract.config")
        return self.require("nnet", "final.raw")

    def _size(self, name: str) -> int | None:
        path = Path(self.folder) / name
        if not path.is_file():
            return None
        text = read_text(path).strip()
        if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text)):
            problem = f"must be a positive whole number, got {text[:80]!r}"
            raise DataFormatError(problem, path=path)
        return int(text)


def extract_xvectors(
    data: DataDir,
    extractor: XvectorExtractor,
    front_end: KaldiFrontEnd,
    *,
    windows: WindowLayout | None = None,
    cmvn: str = "segment",
    channel: int | None = None,
    allow_commands: bool = False,
    workers: int = 1,
    problems: list[Problem] | None = None,
    progress: Progress | None = None,
) -> tuple[EmbeddingSet, dict[str, Segment]]:
    """Extract x-vectors of the segments of a data directory, or of their windows.

    Parameters
    ----------
    data : DataDir
        Data directory.
    extractor : XvectorExtractor
        Network.
    front_end : KaldiFrontEnd
        Front end. Windows contain all frames, because their segments are speech.
    windows : WindowLayout, optional
        Windows into which segments are divided, as for diarization in Kaldi; their
        frames are cut from the frames of the segment.
    cmvn : {'segment', 'window', 'none'}, default='segment'
        Scope of normalisation.
    channel, allow_commands, workers, problems, progress
        See `sms_diar.pipeline.train.extraction.extract_ivectors`.

    Returns
    -------
    xvectors : EmbeddingSet
        X-vectors.
    segments : dict of str to Segment
        Times of the windows in their recordings, if there are windows.
    """
    check_choice("extract_xvectors", "cmvn", cmvn, CMVN_SCOPES)
    settings = replace(
        front_end,
        vad=front_end.vad if windows is None else None,
        cmvn=cmvn == "segment",
    )
    shift = front_end.mfcc.frame_shift / 1000
    times: dict[str, Segment] = {}
    collected: list[Problem] = []
    check_front_end(front_end, extractor.network.frame_dim)
    whole = features_of_segments(
        data,
        settings,
        channel=channel,
        allow_commands=allow_commands,
        workers=workers,
        problems=collected,
    )

    def inputs() -> Iterator[tuple[str, Frames] | Problem]:
        for name, frames in counted(whole, advance):
            if windows is None:
                yield name, frames
                continue
            region = data.segments[name]
            for part, window, rows in _cut(name, frames, region, windows, shift):
                times[part] = window
                yield part, kaldi_cmvn(rows) if cmvn == "window" else rows
        yield from collected

    with (progress or Silence()).track("x-vectors", count_segments(data)) as advance:
        results = ordered_map(extractor.vector_or_problem, inputs(), workers=workers)
        vectors = dict(without_problems(results, problems, data.path))
    if not vectors:
        raise DataFormatError("no segment gave an x-vector", path=data.path)
    rows = np.array(list(vectors.values()), np.float64)
    embeddings = EmbeddingSet(
        tuple(vectors), rows, extractor.fingerprint, str(data.path)
    )
    return embeddings, {name: times[name] for name in vectors if name in times}


def _cut(
    name: str, frames: Frames, region: Segment, windows: WindowLayout, shift: float
) -> Iterator[tuple[str, Segment, Frames]]:
    """Yield ids, times and frames of the windows of a segment.

    Ids and rounding are as in Kaldi: ids have the times within the segment, and `shift`
    is the distance of frames in seconds.
    """
    for window in sliding_windows(
        region, length=windows.length, shift=windows.shift, shortest=windows.shortest
    ):
        # Kaldi writes times within the segment in milliseconds.
        start = round(window.start - region.start, 3)
        end = round(window.end - region.start, 3)
        part = f"{name}-{round(100 * start):08d}-{round(100 * end):08d}"
        rows = frames[int(start / shift + 0.5) : int(end / shift - 0.5) + 1]
        yield part, window, rows
