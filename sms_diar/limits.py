"""How much a file may ask for before it is disbelieved, all in one place.

Files come from anywhere. A header of twenty bytes can promise a petabyte, and an
archive of two megabytes can unpack to two gigabytes; what goes beyond these limits is
refused in one line before memory is asked for. They are far above what speech needs.
``SECURITY.md`` says what they protect.
"""

from __future__ import annotations

LEAST_RATE = 100
"""Fewest samples per second: below, nothing of a voice is left."""

LARGEST_RATE = 768_000
"""Most samples per second: twice what the fastest converters of studios give."""

MOST_CHANNELS = 128
"""Most channels of a recording; arrays of microphones have some dozens."""

MOST_CHUNKS = 10_000
"""Most parts of an audio file before its samples; there are seldom more than ten."""

LONGEST_RECORDING = 1_000_000.0
"""Most seconds of a recording, eleven days; also the longest time in an RTTM."""

LONGEST_NUMBER = 400
"""Most characters of a number in text; a double in full has up to 330."""

LONGEST_ID = 4096
"""Most bytes of an id in an ark."""

MOST_EXPANSION = 20
"""Times that an archive may grow when it is unpacked, beyond `FREE_EXPANSION`.

Vectors of speech shrink by a tenth or so, and sparse ones by a factor of a few; only
zeros shrink a thousandfold. Whole numbers of one byte become eight in memory.
"""

FREE_EXPANSION = 1 << 24
"""Bytes (16 MiB) that any archive may unpack to, however small it is."""

LONGEST_FFT = 1 << 20
"""Most points of a Fourier transform: over a minute at 16 kHz."""

MOST_DERIVATIVES = 10
"""Most derivatives of frames that are appended to them."""

LONGEST_CONTEXT = 10_000
"""Most frames on either side that a frame may look at: 100 seconds."""

LONGEST_DEMAND = 60.0
"""Most seconds that the shortest segment of a network may have."""

MOST_FILTERS = 4096
"""Most filters and cepstra of a front end."""
