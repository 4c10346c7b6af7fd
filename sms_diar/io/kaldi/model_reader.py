"""Parts of a model file of Kaldi, binary or text: tokens, numbers and arrays."""

from __future__ import annotations

import re
import struct

from sms_diar.errors import DataFormatError
from sms_diar.io._bytes import ByteSource
from sms_diar.io.kaldi.ark import BINARY, BLANK, read_binary, read_symmetric, read_text
from sms_diar.limits import LONGEST_ID, LONGEST_NUMBER
from sms_diar.types import AnyArray

_SPACE = re.compile(rb"\s")
_FORMATS = {("i", 4): "<i", ("f", 4): "<f", ("f", 8): "<d"}
DAMAGED = "the file is truncated or damaged"


class ModelReader:
    """Reader of one part after another; errors have the byte or line."""

    def __init__(self, source: ByteSource) -> None:
        self.source = source
        self.binary = source.peek(2) == BINARY
        if self.binary:
            source.read(2)

    def fault(self, problem: str) -> DataFormatError:
        """Return an error at the current position, to be raised."""
        if self.binary:
            return self.source.fault(f"{problem} (at byte {self.source.position})")
        return self.source.fault(problem, self.source.line)

    def word(self, owner: str) -> str:
        """Consume a word and, in binary files, the blank after it."""
        if not self.binary:
            self.source.skip(BLANK)
        raw = self.source.until(_SPACE, limit=LONGEST_ID)
        if not raw or len(raw) > LONGEST_ID:
            raise self.fault(f"no word where {owner} should be; {DAMAGED}")
        if self.binary:
            self.source.read(1)
        return raw.decode("utf-8", "backslashreplace")

    def token(self, *expected: str) -> str:
        """Consume a token, which must be one of `expected`."""
        rule = " or ".join(expected)
        token = self.word(rule)
        if token not in expected:
            raise self.fault(f"expected {rule}, got {token[:80]!r}")
        return token

    def number(self, owner: str, kind: str) -> float:
        """Read an integer ("i") or a real number ("f")."""
        if self.binary:
            size = self.source.read(1)
            layout = _FORMATS.get((kind, size[0] if size else 0))
            raw = self.source.read(size[0]) if layout else b""
            if not layout or len(raw) < size[0]:
                raise self.fault(f"{owner} is not a number; {DAMAGED}")
            return float(struct.unpack(layout, raw)[0])
        word = self.word(owner)
        try:
            if "_" in word or len(word) > LONGEST_NUMBER:
                raise ValueError
            return float(int(word) if kind == "i" else float(word))
        except (ValueError, OverflowError):
            problem = f"{owner} must be a number, got {word[:80]!r}"
            raise self.fault(problem) from None

    def array(self, owner: str, ndim: int | None = None) -> AnyArray:
        """Read a vector or matrix, which may be empty."""
        if self.binary:
            return read_binary(self.source, owner, ndim=ndim)
        array = read_text(self.source, owner)
        if ndim is None or array.ndim == ndim:
            return array
        if array.size:
            kind = "vector" if ndim == 1 else "matrix"
            raise self.fault(f"{owner} must be a {kind}")
        return array.reshape((0,) * ndim)

    def symmetric(self, owner: str) -> AnyArray:
        """Read a symmetric matrix, shape (n, n)."""
        return read_symmetric(self.source, owner, binary=self.binary)
