"""The look-ahead reader under all formats."""

import io
import os
import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io import _bytes
from sms_diar.io._bytes import ByteSource, open_seekable, open_source


def test_looking_ahead_consumes_nothing():
    source = ByteSource(io.BytesIO(b"abcdef"), "s")
    assert (source.peek(4), source.position) == (b"abcd", 0)
    assert (source.read(2), source.peek(9), source.position) == (b"ab", b"cdef", 2)
    assert (source.rest(), source.peek(1), source.position) == (b"cdef", b"", 6)


def test_lines_are_counted_as_an_editor_shows_them():
    source = ByteSource(io.BytesIO(b"\n\n one\ntwo]"), "s")
    source.skip(b" \n")
    assert source.line == 3
    assert source.until(re.compile(rb"\]")) == b"one\ntwo"
    assert source.line == 4


@given(
    data=st.binary(max_size=60),
    sizes=st.lists(st.integers(0, 9), max_size=20),
    chunk=st.integers(1, 7),
)
def test_chunks_do_not_show(data, sizes, chunk):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_bytes, "CHUNK", chunk)
        source = ByteSource(io.BytesIO(data), "s")
        at = 0
        for number, size in enumerate(sizes):
            if number % 3 == 2:
                source.seek(at := min(at, len(data)) // 2)
            assert source.peek(size) == data[at : at + size]
            assert source.read(size) == data[at : at + size]
            at = min(at + size, len(data))
            assert source.position == at
        assert source.rest() == data[at:]


def test_a_text_stream_is_refused():
    with pytest.raises(InvalidParameterError, match="open it with mode 'rb'"):
        ByteSource(io.StringIO("a"), "s").peek(1)


def test_a_stream_of_the_caller_stays_open():
    stream = io.BytesIO(b"ab")
    with open_seekable(stream, "it") as (opened, name):
        assert (opened.read(), name) == (b"ab", "it")
    assert not stream.closed


def test_a_device_that_never_ends_is_refused():
    with pytest.raises(DataFormatError, match="/dev/zero: is a pipe or device"):
        open_source("/dev/zero").__enter__()


def test_a_pipe_and_the_empty_device_are_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"a [ 1 2 ]\n"))
    writer.start()
    with open_source(pipe) as source:
        assert source.rest() == b"a [ 1 2 ]\n"
    writer.join()
    with open_source(os.devnull) as source:
        assert source.rest() == b""
