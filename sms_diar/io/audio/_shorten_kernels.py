"""Inner loops of the *shorten* decoder.

A stream is a sequence of codes. A code with n low bits is a run of zeros that ends with
a one, then n bits; the length of the run is the high part of its value. Functions are
also codes; they say how the next block of a channel is predicted, and residuals follow.
Positions in the stream are bits; a negative one is minus the status that ends decoding.
`_reference.py` has the same algorithm without limits and checks.
"""

from __future__ import annotations

from sms_diar._numba import inlined, kernel, part
from sms_diar.types import AnyArray, IntArray

# Status of the decoder; `shorten.REASONS` describes all but the first.
FULL, ENDED, STARVED, INVALID = 0, 1, 2, 3

LARGEST_VALUE = 1 << 20
"""Maximum of a sample before its bit shift; valid 16-bit samples are far below it."""

_QUIT, _BLOCKSIZE, _BITSHIFT, _QLPC, _ZERO, _VERBATIM = 4, 5, 6, 7, 8, 9
_QUANTUM = 5  # fractional bits of LPC weights


@part
def read_code(data: AnyArray, position: int, n_low: int) -> tuple[int, int]:
    """Read a code with `n_low` low bits; return its value and the next position."""
    n_bits, value = 8 * len(data), 0
    while 0 <= position < n_bits:
        is_one = (data[position >> 3] >> (7 - (position & 7))) & 1
        position += 1
        if is_one:
            break
        value += 1
        if value > LARGEST_VALUE:
            position = -INVALID
    else:
        return 0, position if position < 0 else -STARVED
    if position + n_low > n_bits:
        return 0, -STARVED
    while n_low > 0:
        n_left = 8 - (position & 7)
        size = n_left if n_left < n_low else n_low
        bits = int(data[position >> 3]) >> (n_left - size)
        value = (value << size) | (bits & ((1 << size) - 1))
        position += size
        n_low -= size
    return value, position


@inlined
def signed(code: int) -> int:
    """Return the signed number of a code."""
    return ~(code >> 1) if code & 1 else code >> 1


@inlined
def rounded(total: int, count: int, version: int) -> int:
    """Divide by truncation towards zero; from version 2 on, half is added before."""
    total += count // 2 if version > 1 else 0
    return total // count if total >= 0 else -(-total // count)


@part
def read_number(data: AnyArray, position: int) -> tuple[int, int]:
    """Read a number whose code says how many low bits it has."""
    n_low, position = read_code(data, position, 2)
    if n_low > 32:
        return 0, -INVALID
    return read_code(data, position, n_low)


@part
def read_block(
    data: AnyArray,
    position: int,
    function: int,
    version: int,
    offset: int,
    weights: IntArray,
    samples: IntArray,
    channel: int,
    first: int,
    last: int,
) -> int:
    """Read samples `first` to `last` of a channel; return the next position.

    A sample is its residual, plus a weighted sum of previous samples, plus `added`.
    """
    if function == _ZERO:
        for i in range(first, last):
            samples[channel, i] = 0
        return position
    n_low, position = read_code(data, position, 3)
    if n_low > 31:
        return -INVALID
    order, quantum, start, added = function, 0, 0, 0
    if function == 0:
        added = offset
    elif function == 1:
        weights[0] = 1
    elif function == 2:
        weights[0], weights[1] = 2, -1
    elif function == 3:
        weights[0], weights[1], weights[2] = 3, -3, 1
    else:  # _QLPC, which predicts the differences from the offset
        order, position = read_code(data, position, 2)
        if order > first:
            return -INVALID
        quantum, added = _QUANTUM, offset
        start = 1 << _QUANTUM if version > 1 else 0
        for j in range(order):
            code, position = read_code(data, position, _QUANTUM + 1)
            weights[j] = signed(code)
            start -= weights[j] * offset
    for i in range(first, last):
        code, position = read_code(data, position, n_low + 1)
        total = start
        for j in range(order):
            total += weights[j] * samples[channel, i - 1 - j]
        value = signed(code) + (total >> quantum) + added
        if position < 0 or value < -LARGEST_VALUE or value > LARGEST_VALUE:
            return position if position < 0 else -INVALID
        samples[channel, i] = value
    return position


@kernel
def decode_blocks(
    data: AnyArray,
    version: int,
    position: int,
    block_size: int,
    samples: IntArray,
    means: IntArray,
    weights: IntArray,
    table: AnyArray,
    low: int,
    out: AnyArray,
    n_samples: int,
) -> tuple[int, int]:
    """Decode `n_samples` samples of each channel; return the status and their number.

    `samples` has the last `depth` samples and room for a block, shape (n_channels,
    depth + block_size), `means` the means of the last blocks, shape (n_channels,
    n_means), and `weights` is scratch of shape (depth,). `table` has the stored
    sample of each value from `low` on, shape (1 or n_shifts, n_values); with several
    rows, one per bit shift. `out` has shape (n_samples + block_size, n_channels).
    """
    n_channels, depth = len(samples), len(weights)
    largest_block = samples.shape[1] - depth
    n_means = means.shape[1]
    n_rows, highest = table.shape[0], table.shape[1] - 1
    n_decoded, channel, shift = 0, 0, 0
    while n_decoded < n_samples:
        function, position = read_code(data, position, 2)
        if function == _BITSHIFT:
            shift, position = read_code(data, position, 2)
            if shift > 32 or 1 < n_rows <= shift:
                position = -INVALID
        elif function == _BLOCKSIZE:
            block_size, position = read_number(data, position)
            if not 0 < block_size <= largest_block or channel > 0:
                position = -INVALID
        elif function == _VERBATIM:
            n_bytes, position = read_code(data, position, 5)
            while position >= 0 and n_bytes > 0:
                _, position = read_code(data, position, 8)
                n_bytes -= 1
        elif function == _QUIT or function > _VERBATIM:
            position = -ENDED if function == _QUIT else -INVALID
        if position < 0:
            return -position, n_decoded
        if function in (_BITSHIFT, _BLOCKSIZE, _VERBATIM):
            continue

        offset = 0
        if n_means > 0:
            total = 0
            for i in range(n_means):
                total += means[channel, i]
            offset = rounded(total, n_means, version)
            offset >>= shift if version > 1 else 0
        if offset < -LARGEST_VALUE or offset > LARGEST_VALUE:
            return INVALID, n_decoded
        position = read_block(
            *(data, position, function, version, offset, weights, samples, channel),
            *(depth, depth + block_size),
        )
        if position < 0:
            return -position, n_decoded
        row, scale = (shift, 0) if n_rows > 1 else (0, shift)
        total = 0
        for i in range(block_size):
            value = samples[channel, depth + i]
            total += value
            index = (value << scale) - low
            index = 0 if index < 0 else (highest if index > highest else index)
            out[n_decoded + i, channel] = table[row, index]
        if n_means > 0:
            for i in range(1, n_means):
                means[channel, i - 1] = means[channel, i]
            mean = rounded(total, block_size, version)
            means[channel, n_means - 1] = mean << shift if version > 1 else mean
        for i in range(depth):
            samples[channel, i] = samples[channel, i + block_size]
        channel = (channel + 1) % n_channels
        n_decoded += block_size if channel == 0 else 0
    return FULL, n_decoded
