"""Names of methods, sources and conditions in pictures and tables."""

from __future__ import annotations

import re

PART_WORDS = {
    "trained": "with a PLDA model",
    "untrained": "segments, no PLDA",
    "windows": "windows, no PLDA",
    "lengths": "lengths, no PLDA",
    "no PLDA": "all, no PLDA",
}
"""Names of the parts of conditions in tables, and of all but the first."""

METHOD_WORDS = {
    "sms": "sms, our default",
    "sms-paper": "sms-paper, as published",
    "ms": "ms, mean shift",
    "bms": "bms, blurring mean shift",
    "ahc": "ahc, agglomerative",
    "ahc-oracle": "ahc*, best threshold of each session",
    "nme-sc": "nme-sc, spectral",
    "nme-parts": "nme-parts, spectral in parts",
    "spectral": "spectral, eigengap",
    "kmeans": "kmeans, number by silhouette",
    "hdbscan": "hdbscan",
    "vbx": "vbx",
}
"""Names of methods in pictures; a star marks the use of true labels."""

CORPUS_WORDS = {
    "arabic8k": "Arabic speech",
    "libri-testother10-8k": "LibriSpeech, test-other",
    "pool": "both corpora together",
    "crowd": "three corpora together",
    "audiomnist8k": "spoken digits (test)",
}
KIND_WORDS = {
    "campplus": "CAM++ vectors",
    "ge2e": "GE2E vectors",
    "ivectors": "i-vectors",
    "neural": "neural vectors",
}
TALK_WORDS = {
    "all": "all speak equally long",
    "uneven": "some speak longer",
    "zipf": "few speak most (Zipf)",
    "4": "four segments each",
}
"""Names of sources and speech distributions in pictures."""


def method_words(name: str) -> str:
    """Name of a method as a picture's legend has it."""
    return METHOD_WORDS.get(name, name)


def source_words(source: str) -> str:
    """Corpus and kind of vectors of a source; its name if it is not known.

    >>> source_words("arabic8k-campplus-raw")
    'Arabic speech, CAM++ vectors'
    """
    corpus, _, kind = source.removesuffix("-raw").rpartition("-")
    if corpus not in CORPUS_WORDS:
        return source
    return f"{CORPUS_WORDS[corpus]}, {KIND_WORDS.get(kind, kind)}"


def condition_words(name: str) -> str:
    """Name of a condition with its abbreviations spelled out.

    >>> condition_words("digits iv 15 spk x 5")
    'digits, i-vectors, 15 speakers, 5 segments each'
    """
    found = re.fullmatch(r"(\w+) (iv|nn|CAM\+\+|GE2E|i-vectors) (\d+) (.*)", name)
    if found is None:
        found = re.fullmatch(r"(sim)()(?: (.*),)? (\d+) (.*)", name)
        if found is None:
            return re.sub(r"(\d) (uneven|zipf)$", _talk, name)
        start = " ".join(filter(None, ("simulated", found[3])))
        return f"{start}, {_count(found[4], found[5])}"
    kind = {"iv": "i-vectors", "nn": "neural"}.get(found[2], found[2])
    return f"{found[1]}, {kind}, {_count(found[3], found[4])}"


def _talk(found: re.Match[str]) -> str:
    return _count(found[1], found[2])


def _count(number: str, rest: str) -> str:
    """``15`` and ``spk x 5`` or ``uneven`` in words."""
    words = f"{number} speaker" + "s" * (number != "1")
    if rest.startswith("spk x "):
        return f"{words}, {rest.removeprefix('spk x ')} segments each"
    return words if rest == "spk" else f"{words}, {rest}"
