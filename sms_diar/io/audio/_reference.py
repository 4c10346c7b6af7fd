"""Plain decoder of *shorten*, to read and to test the compiled one against."""

from __future__ import annotations

from collections.abc import Iterator

from sms_diar.io.audio.shorten import stream_type

_DIFFERENCES: tuple[list[int], ...] = ([], [1], [2, -1], [3, -3, 1])


def decode_shorten(stream: bytes) -> list[list[int]]:
    """Return the stored samples of a valid stream, a list per channel."""
    version = stream[4]
    bits = (byte >> i & 1 for byte in stream[5:] for i in range(7, -1, -1))

    def number() -> int:
        return _code(bits, _code(bits, 2))

    kind = stream_type(number())
    assert kind is not None  # noqa: S101 - valid streams have one
    n_channels, block_size, order, n_means, n_skipped = (number() for _ in range(5))
    for _ in range(n_skipped):
        _code(bits, 7)
    rounds = version > 1
    past = [[0] * max(3, order) for _ in range(n_channels)]
    means = [[0] * n_means for _ in range(n_channels)]
    stored: list[list[int]] = [[] for _ in range(n_channels)]
    shift, channel = 0, 0
    while (function := _code(bits, 2)) != 4:  # FN_QUIT
        if function == 5:  # FN_BLOCKSIZE
            block_size = number()
        elif function == 6:  # FN_BITSHIFT
            shift = _code(bits, 2)
        elif function == 9:  # FN_VERBATIM
            for _ in range(_code(bits, 5)):
                _code(bits, 8)
        else:
            offset = 0
            if n_means > 0:
                offset = _divide(sum(means[channel]), n_means, rounds=rounds)
                offset >>= shift if rounds else 0
            block = _block(bits, function, past[channel], offset, block_size, rounds)
            if n_means > 0:
                mean = _divide(sum(block), block_size, rounds=rounds)
                means[channel] = [*means[channel][1:], mean << (shift * rounds)]
            past[channel] = [*past[channel], *block][-len(past[channel]) :]
            for value in block:
                has_rows = len(kind.table) > 1
                row = kind.table[shift if has_rows else 0]
                index = (value if has_rows else value << shift) - kind.low
                stored[channel].append(int(row[min(max(index, 0), len(row) - 1)]))
            channel = (channel + 1) % n_channels
    return stored


def _code(bits: Iterator[int], n_low: int) -> int:
    value = 0
    while next(bits) == 0:
        value += 1
    for _ in range(n_low):
        value = 2 * value + next(bits)
    return value


def _signed(bits: Iterator[int], n_low: int) -> int:
    code = _code(bits, n_low + 1)
    return -(code + 1) // 2 if code % 2 else code // 2


def _divide(total: int, count: int, *, rounds: bool) -> int:
    """Divide as C does, towards zero, after adding half of the divisor."""
    total += count // 2 * rounds
    return abs(total) // count * (-1 if total < 0 else 1)


def _block(
    bits: Iterator[int],
    function: int,
    past: list[int],
    offset: int,
    size: int,
    rounds: bool,  # noqa: FBT001
) -> list[int]:
    """Return the samples of a block of one channel, before the bit shift."""
    if function == 8:  # FN_ZERO
        return [0] * size
    n_low = _code(bits, 3)
    values = list(past)
    if function == 7:  # FN_QLPC, with weights in units of 1/32
        weights = [_signed(bits, 5) for _ in range(_code(bits, 2))]
        for _ in range(size):
            pairs = zip(weights, reversed(values), strict=False)
            total = 32 * rounds + sum(w * (value - offset) for w, value in pairs)
            values.append(_signed(bits, n_low) + (total >> 5) + offset)
    else:  # FN_DIFF0 to FN_DIFF3
        weights = _DIFFERENCES[function]
        for _ in range(size):
            pairs = zip(weights, reversed(values), strict=False)
            prediction = sum(w * value for w, value in pairs) if weights else offset
            values.append(_signed(bits, n_low) + prediction)
    return values[len(past) :]
