"""I-vector extractors of Kaldi's recipes, and models of this package for Kaldi."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sms_diar._files import replacing_folder
from sms_diar.embeddings.extractor import IvectorExtractor
from sms_diar.embeddings.kaldi import KaldiIvectorExtractor, kaldi_models
from sms_diar.errors import InvalidParameterError, MissingFileError
from sms_diar.features.kaldi import (
    KaldiDeltas,
    KaldiFrontEnd,
    KaldiMfcc,
    KaldiVad,
)
from sms_diar.io.kaldi.ivector_models import (
    read_extractor,
    read_mixture,
    write_extractor,
    write_mixture,
)
from sms_diar.io.kaldi.transform import LinearTransform, write_transform


@dataclass(frozen=True)
class KaldiFolder:
    """Folder of a model of Kaldi, whose files may also be elsewhere.

    Parameters
    ----------
    folder : str or Path
        Folder that has the files, or has them in its subfolder ``conf``.
    """

    folder: str | Path

    def find(self, parameter: str, name: str) -> Path | None:
        """Return the path of a file, or None."""
        path = getattr(self, parameter)
        if path is not None:
            return Path(path)
        folder = Path(self.folder)
        candidates = (folder / name, folder / "conf" / name)
        return next((path for path in candidates if path.is_file()), None)

    def require(self, parameter: str, name: str) -> Path:
        """Return the path of a file that must be there."""
        path = self.find(parameter, name)
        if path is None:
            mentions = [f"{parameter}=PATH"]
            remedy = f"{mentions[0]} names another place"
            if name == "vad.conf":
                mentions.append("vad='none'")
                remedy += ", and vad='none' keeps all frames"
            problem = f"{self.folder}: no {name} there or in its folder conf; {remedy}"
            raise MissingFileError(problem, mentions=tuple(mentions))
        return path


@dataclass(frozen=True)
class KaldiFiles(KaldiFolder):
    """Files of an i-vector extractor of Kaldi.

    Each file is looked for in `folder` unless its path is given. Only ``final.dubm``,
    ``delta_opts`` and, without speech detection, ``vad.conf`` may be missing: Kaldi's
    recipes derive the first from ``final.ubm``, and the second has defaults.

    Parameters
    ----------
    folder : str or Path
        Folder with ``final.ie``, ``final.ubm``, ``final.dubm`` and ``delta_opts``, and
        with ``mfcc.conf`` and ``vad.conf`` in it or in its subfolder ``conf``.
    extractor, ubm, dubm, delta_opts, mfcc_config, vad_config : str or Path, optional
        Other paths of these files.
    """

    extractor: str | Path | None = None
    ubm: str | Path | None = None
    dubm: str | Path | None = None
    delta_opts: str | Path | None = None
    mfcc_config: str | Path | None = None
    vad_config: str | Path | None = None

    def front_end(self, *, vad: bool = True, cmvn: bool = True) -> KaldiFrontEnd:
        """Read the front end, with or without speech detection and normalisation."""
        deltas = self.find("delta_opts", "delta_opts")
        return KaldiFrontEnd(
            KaldiMfcc.read(self.require("mfcc_config", "mfcc.conf")),
            KaldiVad.read(self.require("vad_config", "vad.conf")) if vad else None,
            KaldiDeltas() if deltas is None else KaldiDeltas.read(deltas),
            cmvn=cmvn,
        )

    def read(
        self,
        front_end: KaldiFrontEnd,
        *,
        num_gselect: int = 20,
        min_post: float = 0.025,
        posterior_scale: float = 1.0,
    ) -> KaldiIvectorExtractor:
        """Read the extractor; see `KaldiIvectorExtractor` for the parameters."""
        dubm = self.find("dubm", "final.dubm")
        try:
            return KaldiIvectorExtractor(
                read_extractor(self.require("extractor", "final.ie")),
                read_mixture(self.require("ubm", "final.ubm")),
                None if dubm is None else read_mixture(dubm),
                num_gselect=num_gselect,
                min_post=min_post,
                posterior_scale=posterior_scale,
                front_end=front_end.as_dict(),
            )
        except InvalidParameterError as error:
            if error.parameter in ("num_gselect", "min_post", "posterior_scale"):
                raise
            problem = f"{self.folder}: the models do not match: {error}"
            raise InvalidParameterError(problem) from None


def write_kaldi_models(folder: str | Path, extractor: IvectorExtractor) -> None:
    """Write an extractor of this package to a new folder for Kaldi.

    ``final.ie``, ``final.ubm`` and ``final.dubm`` are for ``ivector-extract`` and the
    programs before it. The first coordinate of Kaldi's i-vectors is then almost
    zero; ``transform.mat`` removes it (``transform-vec``).
    """
    model, ubm, dubm = kaldi_models(extractor)
    path = Path(folder)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        problem = f"must be a new or empty folder, got {path}"
        raise InvalidParameterError(
            problem, owner="write_kaldi_models", parameter="folder"
        )
    with replacing_folder(path) as temporary:
        write_extractor(temporary / "final.ie", model)
        write_mixture(temporary / "final.ubm", ubm)
        write_mixture(temporary / "final.dubm", dubm)
        rest = LinearTransform(np.eye(extractor.dim + 1)[1:])
        write_transform(temporary / "transform.mat", rest, dtype="float")
