"""Limits for the content of files.

Files are not trusted. A header of twenty bytes can announce a petabyte, and an archive
of two megabytes can unpack to two gigabytes. Anything beyond these limits is rejected
with a short message before memory is allocated. The limits are far above what speech
needs. ``SECURITY.md`` explains what they protect.
"""

from __future__ import annotations

LEAST_RATE = 100
"""Minimum sampling rate in hertz; lower rates cannot represent a voice."""

LARGEST_RATE = 768_000
"""Maximum sampling rate in hertz: twice the rate of the fastest studio converters."""

MOST_CHANNELS = 128
"""Maximum number of channels of a recording; microphone arrays have some dozens."""

MOST_CHUNKS = 10_000
"""Maximum number of chunks before the samples of an audio file; usually below ten."""

LONGEST_RECORDING = 1_000_000.0
"""Maximum duration of a recording in seconds, eleven days; also for times in RTTM."""

LONGEST_NUMBER = 400
"""Maximum number of characters of a number in text; a double has up to 330."""

LONGEST_ID = 4096
"""Maximum number of bytes of an id in an ark."""

MOST_EXPANSION = 20
"""Maximum expansion factor of an archive beyond `FREE_EXPANSION`.

Speech embeddings shrink by about a tenth, and sparse ones by a small factor; only zeros
shrink a thousandfold. One-byte integers become eight bytes in memory.
"""

MOST_MASK_EXPANSION = 1032
"""Maximum expansion factor of a mask of trials, mostly zeros: the limit of gzip."""

FREE_EXPANSION = 1 << 24
"""Number of bytes (16 MiB) that any archive may unpack to."""

LONGEST_FFT = 1 << 20
"""Maximum number of points of a Fourier transform: over a minute at 16 kHz."""

MOST_DERIVATIVES = 10
"""Maximum order of derivatives that are appended to frames."""

LONGEST_CONTEXT = 10_000
"""Maximum number of context frames on either side of a frame: 100 seconds."""

LONGEST_DEMAND = 60.0
"""Maximum value in seconds for the shortest segment of a network."""

MOST_FILTERS = 4096
"""Maximum number of filters and of cepstra in a front end."""

LARGEST_LAYER = 1 << 16
"""Maximum dimension of a layer of a Kaldi network; usually a few thousand."""

LONGEST_OFFSET = 100_000
"""Maximum time offset, context or period in a Kaldi network, in frames."""

DEEPEST_DESCRIPTOR = 50
"""Maximum nesting of the operations that connect the layers of a Kaldi network."""
