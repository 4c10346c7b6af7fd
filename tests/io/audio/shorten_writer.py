"""A writer of *shorten* streams, so that every part of the format can be tested.

Each block names its function and parameters, whether or not they compress well. Nothing
is shared with the decoder.
"""

from dataclasses import dataclass, field

DIFF0, DIFF1, DIFF2, DIFF3, QUIT, BLOCKSIZE, BITSHIFT, QLPC, ZERO, VERBATIM = range(10)
AU1, S8, U8, S16HL, U16HL, S16LH, U16LH, ULAW, AU2, AU3 = range(10)

RANGES = {
    **dict.fromkeys((AU1, ULAW, AU2, AU3), (0, 255)),
    **dict.fromkeys((S16HL, S16LH), (-32768, 32767)),
}
"""Lowest and highest stored sample; of mu-law and A-law, these are bytes."""


@dataclass
class Block:
    """Samples of one channel and how to write them."""

    samples: list[int]
    function: int = DIFF1
    n_low: int = 3
    weights: tuple[int, ...] = ()  # of QLPC
    shift: int = 0
    verbatim: bytes = b""  # written before the block


@dataclass
class Stream:
    """A whole stream: frames hold one block per channel, all of one length."""

    kind: int
    frames: list[list[Block]]
    version: int = 2
    block_size: int = 256
    max_order: int = 0
    n_means: int = 4
    skipped: bytes = b""
    quits: bool = True
    bits: list[int] = field(default_factory=list)

    def code(self, value, n_low):
        high, low = divmod(value, 1 << n_low)
        self.bits += [0] * high + [1] + [low >> i & 1 for i in reversed(range(n_low))]

    def signed(self, value, n_low):
        self.code(2 * value if value >= 0 else -2 * value - 1, n_low + 1)

    def number(self, value):
        self.code(value.bit_length(), 2)
        self.code(value, value.bit_length())

    def written(self):
        """The stream as bytes, padded to words of four bytes as by `shorten`."""
        self.bits = []
        n_channels = len(self.frames[0]) if self.frames else 1
        for value in (self.kind, n_channels, self.block_size, self.max_order):
            self.number(value)
        self.number(self.n_means)
        self.number(len(self.skipped))
        for byte in self.skipped:
            self.code(byte, 7)
        depth = max(3, self.max_order)
        pasts = [[0] * depth for _ in range(n_channels)]
        means = [[0] * max(1, self.n_means) for _ in range(n_channels)]
        size, shift = self.block_size, 0
        for frame in self.frames:
            if len(frame[0].samples) != size:
                size = len(frame[0].samples)
                self.code(BLOCKSIZE, 2)
                self.number(size)
            for channel, block in enumerate(frame):
                if block.verbatim:
                    self.code(VERBATIM, 2)
                    self.code(len(block.verbatim), 5)
                    for byte in block.verbatim:
                        self.code(byte, 8)
                if block.shift != shift:
                    shift = block.shift
                    self.code(BITSHIFT, 2)
                    self.code(shift, 2)
                values = [self.value(s, shift) for s in block.samples]
                self.block(
                    block, values, pasts[channel], self.offset(means[channel], shift)
                )
                pasts[channel] = (pasts[channel] + values)[-depth:]
                if self.n_means:
                    mean = self.quotient(sum(values), size)
                    mean = mean << shift if self.version > 1 else mean
                    means[channel] = [*means[channel][1:], mean]
        if self.quits:
            self.code(QUIT, 2)
            self.bits += [0] * (-len(self.bits) % 32)
        text = "".join(map(str, self.bits + [0] * (-len(self.bits) % 8)))
        data = int(text or "0", 2).to_bytes(len(text) // 8, "big")
        return b"ajkg" + bytes([self.version]) + data

    def quotient(self, total, count):
        total += count // 2 if self.version > 1 else 0
        return int(total / count)  # exact: far below 2**53

    def offset(self, means, shift):
        if not self.n_means:
            return means[0]
        offset = self.quotient(sum(means), self.n_means)
        return offset >> shift if self.version > 1 else offset

    def block(self, block, values, past, offset):
        self.code(block.function, 2)
        if block.function == ZERO:
            assert not any(values)
            return
        self.code(block.n_low, 3)
        if block.function == QLPC:
            self.code(len(block.weights), 2)
            for weight in block.weights:
                self.signed(weight, 5)
        known = list(past)
        for value in values:
            if block.function == QLPC:
                pairs = zip(block.weights, known[::-1], strict=False)
                total = sum(weight * (old - offset) for weight, old in pairs)
                total += 32 if self.version > 1 else 0
                guess = (total >> 5) + offset
            else:
                a, b, c = known[-1], known[-2], known[-3]
                guess = (offset, a, 2 * a - b, 3 * (a - b) + c)[block.function]
            self.signed(value - guess, block.n_low)
            known.append(value)

    def value(self, sample, shift):
        """Return the number that is coded for a sample."""
        if self.kind in (AU1, AU2):
            value = inward(shift)[sample]
            if self.kind == AU2 and sample < 128:
                value = -1 if sample == 127 else value - 1
            return value
        if self.kind == AU3:
            sample = sample ^ 0x55
            sample = sample - 128 if sample > 127 else -1 - sample
        if self.kind == ULAW:
            sample = ulaw_linear(sample) >> 3
        assert sample % (1 << shift) == 0
        return sample >> shift


def ulaw_byte(sample):
    """G.711 mu-law of a 16-bit sample, bit by bit."""
    size = min(abs(sample), 32635) + 132
    exponent = size.bit_length() - 8
    code = exponent << 4 | size >> (exponent + 3) & 15
    return 255 - code - (128 if sample < 0 else 0)


def ulaw_linear(byte):
    """16-bit sample of a byte of mu-law: the centre of its interval."""
    exponent, mantissa = divmod(~byte & 127, 16)
    size = ((2 * mantissa + 33) << (exponent + 2)) - 132
    return size if byte > 127 else -size


def zero_bits():
    """Largest shift of a multiple of `2**(shift + 3)` with each byte of mu-law."""
    shifts = [0] * 256
    for shift in range(13):
        for sample in range(-32768, 32768, 8 << shift):
            shifts[ulaw_byte(sample)] = shift
    return shifts


_INWARD = {}


def inward(shift):
    """Number of each byte of mu-law: those that can occur come first."""
    if shift not in _INWARD:
        can_occur = [n >= shift for n in zero_bits()]
        upward = sorted(range(128, 256), key=lambda b: (not can_occur[b], -b))
        likely = [b for b in range(126, -1, -1) if can_occur[b]]
        others = [b for b in range(126, -1, -1) if not can_occur[b]]
        numbers = {byte: number for number, byte in enumerate(upward)}
        for number, byte in enumerate((*likely, 127, *others)):
            numbers[byte] = -1 - number
        _INWARD[shift] = numbers
    return _INWARD[shift]
