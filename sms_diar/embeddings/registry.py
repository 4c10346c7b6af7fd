"""Embedders by name, or by the path of a description."""

from __future__ import annotations

from pathlib import Path

from sms_diar.embeddings.network import Embedder, load_campplus
from sms_diar.networks.registry import load_named, names

GROUP = "sms_diar.embedders"
_OWN = {"campplus": load_campplus}


def embedder_names() -> list[str]:
    """Embedders that have a name; their files need not be here."""
    return names(GROUP, _OWN)


def load_embedder(name: str | Path) -> Embedder:
    """The embedder of that name.

    Parameters
    ----------
    name : str or Path
        A name (`embedder_names`), or the path of a TOML file that describes an ONNX
        network (`sms_diar.embeddings.onnx_network`).
    """
    if isinstance(name, Path) or name.endswith(".toml"):
        from sms_diar.embeddings.onnx_network import (  # noqa: PLC0415 an extra
            load_onnx_embedder,
        )

        return load_onnx_embedder(name)
    return load_named(GROUP, _OWN, name, Embedder)  # type: ignore[type-abstract]
