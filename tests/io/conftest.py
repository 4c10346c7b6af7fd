"""What tests of readers share."""

from pathlib import Path

import pytest

from sms_diar.errors import DataFormatError


@pytest.fixture
def refused(tmp_path):
    """Check that a reader refuses a file: which one, in which line, and why.

    `content` is written to the file first, if given; `says` is what matters of the
    message, not all of its words.
    """

    def check(read, content=None, says="", *, line=None, name="x", at=None):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        with pytest.raises(DataFormatError) as caught:
            _read_all(read, path)
        assert Path(caught.value.path) == (at or path)
        assert caught.value.line == line
        assert says in caught.value.problem

    return check


def _read_all(read, path):
    result = read(path)
    if hasattr(result, "__next__"):  # lazily
        list(result)
