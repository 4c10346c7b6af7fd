"""Lookup of embedders by name or by the path of a description."""

from __future__ import annotations

from pathlib import Path

from sms_diar.embeddings.network import Embedder, load_campplus
from sms_diar.networks.registry import load_named, names

GROUP = "sms_diar.embedders"
_BUILT_IN = {"campplus": load_campplus}


def embedder_names() -> list[str]:
    """List the names of all embedders, whether or not their files are installed."""
    return names(GROUP, _BUILT_IN)


def load_embedder(name: str | Path) -> Embedder:
    """Load an embedder.

    Parameters
    ----------
    name : str or Path
        Name (see `embedder_names`), or path of a TOML file that describes an ONNX
        network (see `sms_diar.embeddings.onnx_network`).
    """
    if isinstance(name, Path) or name.endswith(".toml"):
        from sms_diar.embeddings.onnx_network import (  # noqa: PLC0415 an extra
            load_onnx_embedder,
        )

        return load_onnx_embedder(name)
    return load_named(GROUP, _BUILT_IN, name, Embedder)  # type: ignore[type-abstract]
