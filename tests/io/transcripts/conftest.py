import json

import pytest

from sms_diar.errors import DataFormatError
from sms_diar.io.transcripts.files import read_transcript


@pytest.fixture
def transcript(tmp_path):
    """Read content, as JSON unless it is text, from a file."""

    def read(content, name="call.json", format=None):
        path = tmp_path / name
        text = content if isinstance(content, str) else json.dumps(content, indent=1)
        path.write_text(text, encoding="utf-8")
        return read_transcript(path, format)

    return read


@pytest.fixture
def fault(transcript):
    """Line and text of the error that content causes."""

    def read(content, name="call.json", format=None):
        with pytest.raises(DataFormatError) as caught:
            transcript(content, name, format)
        return caught.value.line, caught.value.problem

    return read


@pytest.fixture
def read_text(transcript):
    """Read a text from a file of a name."""
    return lambda name, text, format=None: transcript(text, name, format)
