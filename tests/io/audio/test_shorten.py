"""Streams of shorten written here, decoded, and broken in every way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import DataFormatError
from sms_diar.io.audio._reference import decode_shorten
from sms_diar.io.audio.files import AudioFile
from sms_diar.io.audio.shorten import read_shortened, stream_type
from sms_diar.io.audio.sphere import ULAW as ULAW_SAMPLES
from sms_diar.io.audio.sphere import SphereFile
from tests.io.audio import shorten_writer as w
from tests.io.audio.shorten_writer import Block, Stream
from tests.io.audio.test_sphere import header

ONE_FIVE = ((w.DIFF0, 2), (3, 3), (10, 4), (w.QUIT, 2))  # a block of one sample, 5
WORDS = (w.S16HL, w.S16LH)
pytestmark = pytest.mark.compiled


def width(kind):
    return 2 if kind in WORDS else 1


def decoded(data, path, kind, n_channels, n_samples):
    path.write_bytes(data)
    return read_shortened(
        path, 0, n_samples=n_samples, n_channels=n_channels, width=width(kind)
    )


def stored(kind, samples):
    """What a file holds of samples: 16-bit numbers or bytes."""
    samples = np.asarray(samples)
    if kind in WORDS:
        return samples.astype(np.int64).astype(np.uint16).view(np.int16)
    return samples & 255


def frames_to_samples(frames):
    """Samples of frames, shape (n, n_channels)."""
    channels = zip(*frames, strict=True)
    return np.array([[s for b in c for s in b.samples] for c in channels]).T


@st.composite
def streams(draw):
    kind = draw(st.sampled_from(sorted(w.RANGES)))
    low, high = w.RANGES[kind]
    has_rows = kind in (w.AU1, w.AU2)
    max_order = draw(st.integers(0, 6))
    n_channels = draw(st.integers(1, 3))
    block_size = draw(st.integers(1, 12))
    functions = [w.DIFF0, w.DIFF1, w.DIFF2, w.DIFF3, w.QLPC, w.ZERO]
    frames = []
    for _ in range(draw(st.integers(0, 5))):
        frame, size = [], draw(st.integers(1, block_size))
        for _ in range(n_channels):
            shift = draw(st.sampled_from((0, 0, 1, 3, 5 if width(kind) == 1 else 9)))
            shift = 0 if kind == w.ULAW else shift  # bytes are no multiples
            function = draw(st.sampled_from(functions))
            unit = 1 if has_rows else 1 << shift
            lowest, highest = (-128, 127) if kind == w.AU3 else (low, high)
            numbers = st.integers(-(-lowest // unit), highest // unit)
            drawn = draw(st.lists(numbers, min_size=size, max_size=size))
            samples = [unit * n for n in drawn]
            if kind == w.AU3:  # shifts are those of renumbered bytes
                samples = [(s + 128 if s >= 0 else -1 - s) ^ 0x55 for s in samples]
            if kind == w.ULAW:  # negative zero becomes zero
                samples = [255 if s == 127 else s for s in samples]
            if function == w.ZERO:
                zero = {w.AU1: 255, w.AU2: 255, w.AU3: 0xD5, w.ULAW: 255}.get(kind, 0)
                samples = [zero] * size
            order = draw(st.integers(0, max_order))
            weights = draw(
                st.lists(st.integers(-60, 60), min_size=order, max_size=order)
            )
            # Few zeros before each residual, so that streams stay short.
            n_low = draw(st.integers(4 if width(kind) == 1 else 12, 20))
            verbatim = draw(st.sampled_from((b"", b"", b"RIFF\xff")))
            block = Block(samples, function, n_low, tuple(weights), shift, verbatim)
            frame.append(block)
        frames.append(frame)
    return Stream(
        kind,
        frames,
        version=draw(st.sampled_from((1, 2, 3))),
        block_size=block_size,
        max_order=max_order,
        n_means=draw(st.integers(0, 5)),
        skipped=draw(st.sampled_from((b"", b"\x00\x7f\xff"))),
    )


@given(stream=streams())
def test_streams_decode_to_what_was_written_also_by_the_reference(
    stream, tmp_path_factory
):
    data = stream.written()
    n_channels = len(stream.frames[0]) if stream.frames else 1
    want = np.zeros((0, n_channels))
    if stream.frames:
        want = stored(stream.kind, frames_to_samples(stream.frames))
    path = tmp_path_factory.mktemp("stream") / "x"
    got = decoded(data, path, stream.kind, n_channels, len(want))
    assert got.tolist() == want.tolist()
    assert decode_shorten(data) == want.T.tolist()


def talk(rng, n, n_channels, scale=800.0):
    """Noise with a spectrum like speech, integers of shape (n, n_channels)."""
    noise = rng.normal(size=(n, n_channels))
    for i in range(2, n):
        noise[i] += 1.5 * noise[i - 1] - 0.75 * noise[i - 2]
    return np.clip(scale * noise, -32768, 32767).astype(int)


def plain_stream(samples, size=100, **settings):
    """A stream of 16-bit samples with a mix of functions."""
    frames = []
    for at in range(0, len(samples), size):
        function = (w.DIFF0, w.DIFF1, w.DIFF2, w.QLPC)[at // size % 4]
        frames.append([
            Block(list(map(int, column)), function, 9, (48, -24))
            for column in samples[at : at + size].T
        ])  # fmt: skip
    return Stream(w.S16HL, frames, block_size=size, max_order=2, **settings)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_any_stretch_can_be_read_in_any_order(version, tmp_path):
    rng = np.random.default_rng(version)
    samples = talk(rng, 3050, 2)
    fields = {"channel_count": 2, "sample_count": 3050}
    path = tmp_path / "x.sph"
    path.write_bytes(sphere(plain_stream(samples, version=version).written(), **fields))
    file = SphereFile(path)
    for _ in range(20):
        first, last = sorted(int(n) for n in rng.integers(0, 3051, 2))
        got = file.read(first, last) * 32768.0
        assert got.tolist() == samples[first:last].tolist()
    file.close()


@pytest.mark.parametrize("kind", [w.AU1, w.AU2])
def test_all_bytes_of_mu_law_survive_all_bit_shifts(kind, tmp_path):
    every = list(range(256))
    frames = [[Block(every, w.DIFF0, 4, (), shift)] for shift in range(13)]
    data = Stream(kind, frames).written()
    got = decoded(data, tmp_path / "x", kind, 1, 13 * 256)
    assert got[:, 0].tolist() == 13 * every


def test_tables_are_permutations_of_bytes():
    for kind in (w.AU1, w.AU3):
        for row in stream_type(kind).table:
            assert sorted(row) == list(range(256))


def test_samples_of_lossy_streams_are_clipped(tmp_path):
    frame = [Block([32000, 40000, -40000, 5], w.DIFF0, 12)]
    data = Stream(w.S16LH, [frame], block_size=4).written()
    got = decoded(data, tmp_path / "x", w.S16LH, 1, 4)
    assert got[:, 0].tolist() == [32000, 32767, -32768, 5]


def test_lossy_mu_law_is_shifted_before_it_becomes_a_byte(tmp_path):
    # 5 << 3 is 40 in 13 bits and 320 in 16 bits; 320 + 132 = 452 = 0b111000100, so
    # exponent 9 - 8 = 1, mantissa 1100, byte ~0b0011100 = 0xE3.
    data = head(w.ULAW, 1, 1, 0, 0, 0, then=[(w.BITSHIFT, 2), (3, 2), *ONE_FIVE])
    assert decoded(data, tmp_path / "x", w.ULAW, 1, 1).tolist() == [[0xE3]]


@pytest.mark.parametrize(
    ("kind", "coding", "n_bytes"),
    [(w.AU2, "ulaw", 1), (w.AU1, "ulaw", 1), (w.AU3, "alaw", 1), (w.S16HL, "pcm", 2)],
)
def test_sphere_files_read_like_plain_ones(kind, coding, n_bytes, tmp_path):
    low, high = w.RANGES[kind]
    samples = np.random.default_rng(kind).integers(low, high + 1, (500, 2))
    frames = [
        [Block(c.tolist(), w.DIFF0, 14 if n_bytes == 2 else 5) for c in samples[i:j].T]
        for i, j in ((0, 256), (256, 500))
    ]
    fields = {"channel_count": 2, "sample_count": 500, "sample_n_bytes": n_bytes}
    packed = f"{coding},embedded-shorten-v2.00"
    (tmp_path / "packed.sph").write_bytes(
        header(sample_coding=packed, **fields) + Stream(kind, frames).written()
    )
    raw = samples.astype("<i2" if n_bytes == 2 else "u1").tobytes()
    (tmp_path / "plain.sph").write_bytes(header(sample_coding=coding, **fields) + raw)
    for channel in (1, 2):
        with (
            AudioFile(tmp_path / "packed.sph", channel=channel) as packed_file,
            AudioFile(tmp_path / "plain.sph", channel=channel) as plain_file,
        ):
            assert packed_file.n_samples == plain_file.n_samples == 500
            got, want = packed_file.read(0, 500), plain_file.read(0, 500)
            assert got.tolist() == want.tolist()
    if kind == w.AU2:
        assert want.tolist() == (ULAW_SAMPLES[samples[:, 1]] / 32768).tolist()


WHOLE = plain_stream(talk(np.random.default_rng(3), 400, 1))


def sphere(data, **fields):
    usual = {"sample_coding": "pcm,embedded-shorten-v2.00", "sample_count": 400}
    return header(**{**usual, **fields}) + data


def read_all(path):
    file = SphereFile(path)
    try:
        return file.read(0, file.n_samples)
    finally:
        file.close()


def head(*numbers, then=()):
    """A stream with these numbers in its header, then codes (value, n_low)."""
    stream = Stream(0, [])
    for number in numbers:
        stream.number(number)
    for value, n_low in then:
        stream.code(value, n_low)
    bits = stream.bits + [0] * (-len(stream.bits) % 8)
    return b"ajkg\2" + int("".join(map(str, bits)), 2).to_bytes(len(bits) // 8, "big")


GOOD = (w.S16HL, 1, 256, 2, 4, 0)
SIZE = (w.BLOCKSIZE, 2)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "begin with b'', expected 'ajkg' and a version from 1 to 3"),
        (b"ajkx\2" + bytes(50), "begin with b'ajkx\\x02'"),
        (b"ajkg\0" + bytes(50), "begin with b'ajkg\\x00'"),
        (b"ajkg\4" + bytes(50), "begin with b'ajkg\\x04'"),
        (WHOLE.written()[:8], "have a header without an end"),
        (b"ajkg\2" + bytes(1 << 18), "have a header without an end"),
        (head(10, *GOOD[1:]), "have type 10, not samples of 2 bytes"),
        (head(w.AU2, *GOOD[1:]), "have type 8, not samples of 2 bytes"),
        (head(3, 2, *GOOD[2:]), "have channels: 2, expected 1"),
        (head(3, 1, 0, 2, 4, 0), "have block size 0, expected 1 to 65535"),
        (head(3, 1, 1 << 31, 2, 4, 0), "have block size 2147483648"),
        (head(3, 1, 256, 1 << 20, 4, 0), "have LPC order 1048576"),
        (head(3, 1, 256, 0, 1 << 31, 0), "have means: 2147483648"),
        (head(3, 1, 256, 0, 4, 1 << 31), "have a header without an end"),
        (head(3, 1, 256, 0, 4, 9), "have a header without an end"),
        (head(*GOOD, then=[(10, 2)]), "after 0 of 400 samples (a code is invalid)"),
        (head(*GOOD, then=[(w.BITSHIFT, 2), (33, 2)]), "(a code is"),
        (head(*GOOD, then=[SIZE, (2, 2), (0, 2)]), "(a code is"),
        (head(*GOOD, then=[SIZE, (9, 2), (257, 9)]), "(a code is"),
        (head(*GOOD, then=[SIZE, (40, 2)]), "(a code is"),
        (head(*GOOD, then=[(w.DIFF0, 2), (32, 3)]), "(a code is"),
        (head(*GOOD, then=[(w.QLPC, 2), (3, 3), (4, 2)]), "(a code is"),
        (head(*GOOD, then=[(w.DIFF0, 2), (9, 3), (1 << 29, 10)]), "(a code is"),
        (head(*GOOD, then=[(w.DIFF0, 2), (3, 3)]) + bytes(1 << 18), "(a code is"),
        (head(*GOOD, then=[(w.VERBATIM, 2), (1 << 20, 5)]), "(the file ends)"),
        (WHOLE.written()[:-200], "(the file ends); the file is truncated or damaged"),
        (Stream(w.S16HL, WHOLE.frames[:3], block_size=100, max_order=2).written(),
         "end after 300 of 400 samples (the stream says so)"),
    ],
)  # fmt: skip
def test_damaged_streams_are_refused(refused, data, problem):
    refused(read_all, sphere(data), problem)


def test_blocks_of_channels_must_have_one_size(refused):
    stream = Stream(w.S16HL, [])
    for number in (w.S16HL, 2, 4, 0, 0, 0):
        stream.number(number)
    for value, n_low in ((w.ZERO, 2), (w.BLOCKSIZE, 2), (2, 2), (2, 2), (w.ZERO, 2)):
        stream.code(value, n_low)
    bits = "".join(map(str, stream.bits)).ljust(128, "1")
    data = b"ajkg\2" + int(bits, 2).to_bytes(16, "big")
    refused(read_all, sphere(data, channel_count=2), "(a code is")


def test_mu_law_has_no_table_for_larger_shifts(refused):
    data = head(w.AU2, 1, 256, 0, 0, 0, then=[(w.BITSHIFT, 2), (13, 2)])
    fields = {"sample_coding": "ulaw,embedded-shorten-v2.00", "sample_n_bytes": 1}
    refused(read_all, sphere(data, **fields), "(a code is")


def test_means_that_grow_without_limit_are_refused(refused):
    # A mean at shift 32 gives an offset of 2**32 at shift 0.
    codes = [(w.BITSHIFT, 2), (32, 2), (w.DIFF0, 2), (3, 3), *[(2, 4)] * 4]
    codes += [(w.BITSHIFT, 2), (0, 2), (w.DIFF0, 2), (3, 3), *[(2, 4)] * 4]
    data = head(w.S16HL, 1, 4, 0, 1, 0, then=codes)
    refused(read_all, sphere(data), "after 4 of 400 samples (a code is invalid)")


def test_a_shortened_file_needs_its_count(refused):
    data = sphere(WHOLE.written(), sample_count=None)
    refused(SphereFile, data, "must give sample_count as a whole number >= 0")


def test_counts_far_above_the_size_are_refused_before_decoding(refused):
    data = sphere(WHOLE.written(), sample_count=10**12)
    refused(read_all, data, "far too few for 1000000000000 samples")


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bits_give_samples_or_an_error(seed, tmp_path):
    rng = np.random.default_rng(seed)
    data = bytearray(WHOLE.written())
    for _ in range(rng.integers(1, 4)):
        data[rng.integers(5, len(data))] ^= 1 << int(rng.integers(8))
    path = tmp_path / "x.sph"
    path.write_bytes(sphere(bytes(data)))
    try:
        shape = read_all(path).shape
    except DataFormatError as error:
        shape = (400, 1) if error.path == path else None
    assert shape == (400, 1)
