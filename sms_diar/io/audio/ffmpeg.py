"""Decoding with ffmpeg, if it is installed, of files that libsndfile cannot read.

ffmpeg is called with a list of arguments, never through a shell, and may read only its
input file: protocols other than ``file`` and formats that refer to other files, such as
playlists, are disabled.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

log = logging.getLogger(__name__)

PROGRAM = "ffmpeg"
_PART = re.compile(r"^\[[^\]]* @ 0x[0-9a-f]+\] ")  # component of ffmpeg

_DEMUXERS = (
    "3gp,aac,ac3,aiff,amr,amrnb,amrwb,ape,asf,au,avi,caf,dsf,dts,dv,eac3,flac,flv,gsm,"
    "loas,m4a,matroska,mlp,mov,mp3,mp4,mpc,mpc8,mpeg,mpegts,mxf,nut,oga,ogg,ogv,oma,"
    "rm,shn,sox,spx,swf,tak,truehd,tta,voc,w64,wav,webm,wv,xwma"
)
"""Formats of single files: neither playlists (hls, dash, concat) nor devices."""


def is_installed() -> bool:
    """Return true if ffmpeg is installed."""
    return shutil.which(PROGRAM) is not None


def advice(path: str | Path) -> str:
    """Command line that converts a file to a readable one, for messages."""
    path = Path(path)
    target = path.with_name(f"{path.stem}-decoded.wav")
    return shlex.join([PROGRAM, "-i", str(path), "-vn", str(target)])


def decode_to_wav(path: Path, target: Path) -> None:
    """Decode the first audio stream of a file, all its channels, as 16-bit WAV.

    Raises a plain ValueError with the message of ffmpeg if decoding fails.
    """
    words = [
        PROGRAM,
        *("-nostdin", "-hide_banner", "-loglevel", "error"),
        *("-protocol_whitelist", "file", "-format_whitelist", _DEMUXERS),
        *("-i", f"file:{path.absolute()}"),
        *("-map", "0:a:0", "-vn", "-sn", "-dn", "-map_metadata", "-1"),
        *("-c:a", "pcm_s16le", "-rf64", "auto", "-f", "wav", "-y", f"file:{target}"),
    ]
    try:
        # A fixed program and no shell; the path cannot be parsed as an option.
        done = subprocess.run(  # noqa: S603
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
    except OSError as error:
        raise ValueError(f"cannot run {PROGRAM} ({error.strerror})") from None
    lines = os.fsdecode(done.stderr).strip().splitlines()
    last = lines[-1] if lines else f"status {done.returncode}"
    last = _PART.sub("", last).replace(f"file:{path.absolute()}: ", "")
    reason = f"{PROGRAM}: {last}"
    if done.returncode or not target.is_file():
        raise ValueError(reason)
    if lines:
        log.warning("%s: is truncated or damaged; the rest is read (%s)", path, reason)
