"""Readers of corpora whose references are transcripts: CALLHOME, RT and ICSI.

They are as LDC and NIST ship them: CALLHOME English, Mandarin and others have a text
file of each call, meetings of NIST's RT evaluations have STM or RTTM, and ICSI has XML
files of segments and words.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from xml.parsers import expat

from sms_diar._text import check_id
from sms_diar.errors import DataFormatError, MissingFileError
from sms_diar.io.turns.files import read_annotation
from sms_diar.io.turns.uem import read_uem
from sms_diar.types import Segment, Turn

from .corpus import (
    AUDIO_SUFFIXES,
    Conversation,
    Place,
    combined,
    existing,
    some,
    with_regions,
)

CALLHOME_SPLITS = ("evaltest", "devtest", "train")
DISTANT = ("mdm", "sdm")
ICSI_MICROPHONES = ("Mix-Headset", "chan6", "chan7", "chanE", "chanF")
# The usual parts of ICSI; all other meetings are training data.
ICSI_PARTS = {
    "test": ("Bmr013", "Bmr018", "Bro021"),
    "dev": ("Bmr021", "Bns001"),
}

_CALL = re.compile(r"[a-z]{2}_\d{4}")
_LINE = re.compile(rb"\s*(\d+(?:\.\d+)?)\s+(\d+(?:\.\d+)?)\s+([AB]\d*):")
_NOBODY = ("inter_segment_gap", "excluded_region", "unknown")
_IGNORED = "IGNORE_TIME_SEGMENT_IN_SCORING"

Attributes = Mapping[str, str]


def read_callhome_calls(place: Place) -> list[Conversation]:
    """Read CALLHOME: ``SPLIT/en_4065.txt`` below `data`, ``en_4065.sph`` below `audio`.

    LDC spells one split ``evltest`` on discs of speech. Calls are transcribed in part,
    and only that part is scored.
    """
    existing(place.data, "transcripts en_4065.txt", "callhome-calls")
    files = {
        path.stem: path
        for path in _below(place.data, (".txt",))
        if _CALL.fullmatch(path.stem)
        and place.split in [part.replace("evl", "eval") for part in path.parts]
    }
    if not files:
        raise MissingFileError(
            f"{place.data}: no transcripts such as en_4065.txt in a folder "
            f"{place.split} at any depth; 'data' names the folder of transcripts "
            f"(LDC97T14, LDC96T16), 'audio' the folder of speech (LDC97S42, LDC96S34)"
        )
    names = place.wanted(files, place.data)
    turns = [turn for name in names for turn in scan_transcript(files[name], name)]
    audio = {path.stem: path for path in reversed(_below(place.audio))}
    conversations = combined(names, audio, turns, source=place.data, audio=place.audio)
    if not place.use_uem:
        return conversations
    return [
        replace(conversation, regions=(_transcribed(conversation),))
        for conversation in conversations
    ]


def read_rt(place: Place) -> list[Conversation]:
    """Read meetings of NIST's RT evaluations.

    References are RTTM or STM files at any depth below `data`, regions UEM files. Of
    several, those whose path has the words ``spkr`` and the microphone condition are
    used. Audio below `audio` begins with the name of the meeting, such as
    ``EDI_20050216-1051_d02_NONE.sph``; a meeting needs one file.
    """
    existing(place.data, "RTTM or STM, and UEM", "rt")
    condition = place.microphone if place.microphone in DISTANT else "sdm"
    words = ("spkr", condition)
    uems = _preferred(_below(place.data, (".uem",)), words) if place.use_uem else []
    reference = _preferred(_below(place.data, (".rttm",)), words)
    stms = _preferred(_below(place.data, (".stm",)), words)
    if not (reference or stms):
        raise MissingFileError(
            f"{place.data}: no RTTM or STM files in this folder or below it"
        )
    turns = (
        list(read_annotation(reference))
        if reference
        else [turn for path in stms for turn in scan_stm(path)]
    )
    known = {turn.segment.recording for turn in turns}
    if uems:
        known = {name for path in uems for name in read_uem(path).recordings}
    source = (reference or stms)[0].parent
    names = place.wanted(known, source)
    files = _meeting_files(names, place)
    conversations = combined(names, files, turns, source=source, audio=place.audio)
    return with_regions(conversations, uems, path=place.data) if uems else conversations


def read_icsi(place: Place) -> list[Conversation]:
    """Read ICSI: ``Segments/*.segs.xml`` and ``Words/*.words.xml`` of its annotation.

    Audio is ``Bmr013.interaction.wav`` or ``Bmr013/Mix-Headset.wav``, or of one
    microphone ``Bmr013/chan6.sph``.
    """
    segments = _folder_of(place.data, "Segments")
    words = _folder_of(place.data, "Words")
    files = _below(segments, (".xml",))
    meetings = {path.name.partition(".")[0] for path in files}
    parts = {name: part for part, names in ICSI_PARTS.items() for name in names}
    listed = {name for name in meetings if parts.get(name, "train") == place.split}
    if not listed:
        raise MissingFileError(f"{segments}: no segments of the split {place.split}")
    names = place.wanted(listed, segments)
    turns: list[Turn] = []
    for path in files:
        meeting, channel, *_ = path.name.split(".")
        if meeting in names:
            spoken = words / f"{meeting}.{channel}.words.xml"
            turns += scan_icsi(path, spoken, meeting)
    inside = {"Mix-Headset": (".interaction.wav", "/Mix-Headset.wav")}.get(
        place.microphone, tuple(f"/{place.microphone}{s}" for s in (".sph", ".wav"))
    )
    audio = {
        name: path
        for name in names
        for suffix in reversed(inside)
        if (path := place.audio / f"{name}{suffix}").is_file()
    }
    where = place.audio / f"MEETING{inside[0]}"
    return combined(names, audio, turns, source=segments, audio=where)


def scan_transcript(path: Path, recording: str) -> list[Turn]:
    """Read a transcript of LDC: lines with start, end, ``A:`` or ``B1:``, and words.

    Other lines are comments, or continue the words of the line before. The encoding of
    words does not matter.
    """
    turns = []
    for line in path.read_bytes().splitlines():
        match = _LINE.match(line)
        if match and float(match[1]) < float(match[2]):
            segment = Segment(recording, float(match[1]), float(match[2]))
            turns.append(Turn(segment, match[3].decode()))
    if not turns:
        raise DataFormatError(
            "has no line with start, end, a speaker such as A: and words", path=path
        )
    return turns


def scan_stm(path: Path) -> Iterator[Turn]:
    """Read an STM file: file, channel, speaker, start, end, perhaps labels, words."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields or line.startswith(";;"):
            continue
        try:
            recording, _, speaker, start, end, *words = fields
            if speaker.lower() in _NOBODY or _IGNORED in words:
                continue
            segment = Segment(check_id(recording), float(start), float(end))
            turn = Turn(segment, check_id(speaker))
        except ValueError as error:
            raise DataFormatError(
                f"a line has file, channel, speaker, start and end ({error})",
                path=path,
                line=number,
                text=line,
            ) from error
        yield turn


def scan_icsi(segments: Path, words: Path, meeting: str) -> list[Turn]:
    """Read the turns of one channel: segments from their first to their last word.

    Segments without words, such as laughter, are not speech.
    """
    spoken = sorted(
        time
        for name, attributes in _elements(words)
        if name == "w" and (time := _times(attributes, words)) is not None
    )
    starts = [start for start, _ in spoken]
    turns = []
    for name, attributes in _elements(segments):
        times = _times(attributes, segments) if name == "segment" else None
        if times is None:
            continue
        inside = spoken[bisect_left(starts, times[0]) : bisect_left(starts, times[1])]
        inside = [time for time in inside if time[1] <= times[1]]
        if inside:
            end = max(time[1] for time in inside)
            speaker = attributes.get("participant", segments.name.split(".")[1])
            turns.append(Turn(Segment(meeting, inside[0][0], end), check_id(speaker)))
    return turns


def _elements(path: Path) -> list[tuple[str, Attributes]]:
    """Return the elements of an XML file; documents with a DOCTYPE are refused."""
    if not path.is_file():
        raise MissingFileError(f"{path}: no such file")
    elements: list[tuple[str, Attributes]] = []

    def refuse(*_: object) -> None:
        raise DataFormatError("has a document type (DOCTYPE); remove it", path=path)

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda name, attributes: elements.append(
        (name, attributes)
    )
    try:
        parser.Parse(path.read_bytes(), True)  # noqa: FBT003
    except expat.ExpatError as error:
        problem = expat.ErrorString(error.code)
        raise DataFormatError(
            f"not whole XML ({problem})", path=path, line=error.lineno
        ) from None
    except (LookupError, ValueError) as error:  # of the encoding that it names
        raise DataFormatError(f"cannot be read ({error})", path=path) from None
    return elements


def _times(attributes: Attributes, path: Path) -> tuple[float, float] | None:
    """Return start and end; some words have none."""
    try:
        start, end = (float(attributes.get(f"{n}time") or -1) for n in ("start", "end"))
    except ValueError as error:
        raise DataFormatError(f"a time is not a number ({error})", path=path) from error
    return (start, end) if 0.0 <= start < end < float("inf") else None


def _transcribed(conversation: Conversation) -> Segment:
    first = min(turn.segment.start for turn in conversation.turns)
    last = max(turn.segment.end for turn in conversation.turns)
    return Segment(conversation.recording, first, last)


def _below(folder: Path, suffixes: Sequence[str] = AUDIO_SUFFIXES) -> list[Path]:
    files = folder.rglob("*")
    return sorted(path for path in files if path.suffix.lower() in suffixes)


def _folder_of(data: Path, name: str) -> Path:
    existing(data, "Segments and Words of the ICSI annotation", "icsi")
    for path in (data / name, *sorted(data.rglob(name))):
        if path.is_dir():
            return path
    raise MissingFileError(
        f"{data / name}: no such folder, nor below {data}; layout 'icsi' has Segments "
        f"and Words of the ICSI annotation"
    )


def _preferred(files: Sequence[Path], words: Iterable[str]) -> list[Path]:
    """Keep the files whose path has a word, for each word that any of them has."""
    preferred = list(files)
    for word in words:
        preferred = [
            path for path in preferred if word in str(path).lower()
        ] or preferred
    return preferred


def _meeting_files(names: Sequence[str], place: Place) -> dict[str, Path]:
    """Return the audio of each meeting by its microphone; there must be only one."""
    word = place.microphone.lower()
    has_word: Callable[[Path], bool] = lambda path: word in str(path).lower()  # noqa: E731
    audio = _below(place.audio)
    files, doubtful = {}, {}
    for name in names:
        candidates = [path for path in audio if path.stem.startswith(name)]
        chosen = [path for path in candidates if has_word(path)]
        chosen = chosen or [path for path in candidates if path.stem == name]
        if not chosen and place.microphone in DISTANT:
            chosen = (
                candidates  # a meeting with one distant microphone needs no name for it
            )
        if len(chosen) == 1:
            files[name] = chosen[0]
        elif chosen:
            doubtful[name] = [path.name for path in chosen]
    if doubtful:
        first, paths = next(iter(doubtful.items()))
        raise DataFormatError(
            f"{len(doubtful)} of {len(names)} meetings have several files "
            f"({first}: {some(paths)}); 'microphone' must be a part of one of these "
            f"names, or put one file of each meeting into a folder of its own",
            path=place.audio,
        )
    return files
