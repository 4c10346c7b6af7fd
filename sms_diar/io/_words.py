"""Words of text whose lines all look alike, found without cutting it up.

A table of a hundred thousand lines is a million words; as Python objects they
cost more than all that is done with them. Here they stay places in one buffer,
and a column becomes an array.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sms_diar.types import IntArray

Letters = npt.NDArray[np.uint8]

_LONGEST = 255
"""Most letters of a word; columns are as wide as their longest word."""


@dataclass(frozen=True, eq=False)
class Words:
    """Lines of equally many words.

    Parameters
    ----------
    letters : ndarray of uint8
        The text, ASCII.
    start, stop : ndarray of shape (n_lines, n_words)
        Where words begin and end.
    """

    letters: Letters
    start: IntArray
    stop: IntArray

    @classmethod
    def of(cls, data: bytes) -> Words | None:
        """Words of a text; None where lines differ, or anything is unusual.

        Printable ASCII, spaces, tabs and line ends are usual, as are lines that
        begin with a word and words of at most 255 letters.
        """
        letters = np.frombuffer(data, dtype=np.uint8)
        ends = np.flatnonzero(letters == ord("\n"))
        n_lines = len(ends) + (not data.endswith(b"\n"))
        if not data.isascii() or not len(letters) or letters[0] <= ord(" "):
            return None
        n_returns = data.count(b"\r\n")
        n_blanks = len(ends) + n_returns + data.count(b"\t")
        if np.count_nonzero(letters < ord(" ")) != n_blanks or b"\x7f" in data:
            return None
        is_gap = letters <= ord(" ")
        edges = np.flatnonzero(is_gap[1:] != is_gap[:-1]) + 1
        if len(edges) % 2 == 0:  # the last word ends with the text
            edges = np.append(edges, len(letters))
        if len(edges[::2]) % n_lines:
            return None
        start = np.append(0, edges[1:-1:2]).reshape(n_lines, -1)
        stop = edges[::2].reshape(n_lines, -1)
        # Where every n-th word begins a line, no line is longer or shorter.
        if (start[1:, 0] != ends[: n_lines - 1] + 1).any():
            return None
        if (stop - start).max() > _LONGEST:
            return None
        return cls(letters, start, stop)

    @property
    def width(self) -> int:
        """Words of a line."""
        return int(self.start.shape[1])

    def column(self, place: int) -> Letters:
        """Letters of the words at one place of all lines, a row each, NUL behind."""
        start, stop = self.start[:, place], self.stop[:, place]
        length = (stop - start)[:, None]
        offset = np.arange(int(length.max()))
        column = self.letters.take(start[:, None] + offset, mode="clip")
        column *= offset < length
        return column


def runs_of(column: Letters) -> tuple[list[bytes], IntArray]:
    """Words of a column, each only once where it repeats the one above.

    Returns
    -------
    words : list of bytes
        One for each run.
    run : ndarray of shape (n_lines,)
        Run of each line.
    """
    words = column.view(f"S{column.shape[1]}")[:, 0]
    begins = np.ones(len(words), dtype=np.bool_)
    begins[1:] = words[1:] != words[:-1]
    return words[begins].tolist(), np.cumsum(begins) - 1
