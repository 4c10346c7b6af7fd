"""Answer keys of NIST SRE 2008, which name the speaker of each side.

NIST's keys are a folder ``NIST_SRE08_KEYS.v0.1``. Two of its files are read, both
comma separated with a line of column names first:

* ``trial-keys/NIST_SRE08_short2-short3.trial.key``: model, test segment, channel
  (a or b), ``target`` or ``nontarget``, then Y or N for each of eight conditions;
* ``model-keys/NIST_SRE08_short2.model.key``: model, gender, training segment and
  channel as ``segment:a``, speaker.

The speaker of a training side is in the model key; the speaker of a test side follows
from its target trials. A test side without a target trial is not used: its speaker is
only in the segment keys, which are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sms_diar._text import check_id
from sms_diar._validation import check_choice
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._lines import scan_lines

N_CONDITIONS = 8
SIDES = ("both", "training", "test")

_CHANNELS = {"a": 1, "b": 2, "1": 1, "2": 2}


class Side(NamedTuple):
    """One channel of a conversation; channels count from 1."""

    segment: str
    channel: int

    @property
    def id(self) -> str:
        """Name of the recording, such as ``taaaa_A``."""
        return f"{self.segment}_{'AB'[self.channel - 1]}"


@dataclass(frozen=True, slots=True)
class Model:
    """A target speaker, and the sides on which the model is trained."""

    id: str
    gender: str
    sides: tuple[Side, ...]
    speaker: str


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial: whether the speaker of a model speaks on a test side."""

    model: str
    side: Side
    is_target: bool
    conditions: frozenset[int]  # 1 to 8


@dataclass(frozen=True)
class Selection:
    """Sides whose speaker is known."""

    speakers: Mapping[Side, str]
    genders: Mapping[str, str]  # "f" or "m" of each speaker


def read_model_key(path: str | Path) -> dict[str, Model]:
    """Read the models, by id.

    Fields may be separated by commas or by blanks; several training sides of one
    model by blanks, as in the keys of the 3conv and 8conv conditions.
    """
    models = {}
    for number, text, fields in _rows(path):
        try:
            model = _model(fields)
        except ValueError as error:
            if number == 1:  # names of the columns
                continue
            raise DataFormatError(
                str(error), path=path, line=number, text=text
            ) from error
        models[model.id] = model
    if not models:
        raise DataFormatError("holds no models", path=path)
    return models


def read_trial_key(path: str | Path) -> Iterator[Trial]:
    """Yield the trials, in file order; fields as in `read_model_key`."""
    for number, text, fields in _rows(path):
        try:
            trial = _trial(fields)
        except ValueError as error:
            if number == 1:
                continue
            raise DataFormatError(
                str(error), path=path, line=number, text=text
            ) from error
        yield trial


def select_sides(
    models: Mapping[str, Model],
    trials: Sequence[Trial],
    *,
    condition: int = 7,
    gender: str = "m",
    sides: str = "both",
) -> Selection:
    """Find the sides of one condition and gender whose speakers are known.

    Condition 6 is telephone speech, 7 is in English, and 8 by native speakers of U.S.
    English. `gender` is "m" or "f". `sides` selects the sides on which models are
    trained ("training"), the sides of target trials ("test"), or "both".
    """
    if condition not in range(1, N_CONDITIONS + 1):
        raise InvalidParameterError(
            f"must be a whole number in 1 .. {N_CONDITIONS}, got {condition!r}",
            owner="select_sides",
            parameter="condition",
        )
    check_choice("select_sides", "gender", gender, ("m", "f"))
    check_choice("select_sides", "sides", sides, SIDES)
    asked = [
        trial
        for trial in trials
        if condition in trial.conditions and models[trial.model].gender == gender
    ]
    speakers: dict[Side, str] = {}
    for trial in asked:
        model = models[trial.model]
        if sides != "test":
            for side in model.sides:
                _assign(speakers, side, model.speaker)
        if sides != "training" and trial.is_target:
            _assign(speakers, trial.side, model.speaker)
    ordered = {side: speakers[side] for side in sorted(speakers)}
    return Selection(ordered, dict.fromkeys(sorted(set(speakers.values())), gender))


def _assign(speakers: dict[Side, str], side: Side, speaker: str) -> None:
    if speakers.setdefault(side, speaker) != speaker:
        raise InvalidParameterError(
            f"a side must have one speaker, got {speakers[side]!r} and {speaker!r} "
            f"for {side.id}; the keys contradict each other",
            owner="select_sides",
        )


def _rows(path: str | Path) -> Iterator[tuple[int, str, list[str]]]:
    """Yield number, text and fields of every line that is not blank or a comment."""
    for line in scan_lines(path):
        text = line.text.strip()
        if not text or text.startswith("#"):
            continue
        if not line.is_readable:
            raise DataFormatError(line.problems[-1], path=path, line=line.number)
        fields = text.split(",") if "," in text else text.split()
        yield line.number, line.text, [field.strip() for field in fields]


def _model(fields: list[str]) -> Model:
    words = [word for field in fields for word in field.split()]
    sides = [word for word in words if ":" in word]
    others = [word for word in words if ":" not in word]
    if len(others) < 3 or not sides:
        raise ValueError(
            f"a model has an id, a gender, sides as segment:channel and a speaker, got "
            f"{len(fields)} fields"
        )
    name, gender, speaker = others[0], others[1].lower()[0], others[2]
    if gender not in ("f", "m"):
        raise ValueError(f"gender must be m or f, got {others[1]!r}")
    parts = (word.partition(":") for word in sides)
    return Model(
        check_id(name),
        gender,
        tuple(_side(segment, channel) for segment, _, channel in parts),
        check_id(speaker),
    )


def _trial(fields: list[str]) -> Trial:
    if len(fields) != 4 + N_CONDITIONS:
        raise ValueError(
            f"a trial has {4 + N_CONDITIONS} fields (model, segment, channel, target, "
            f"{N_CONDITIONS} conditions), got {len(fields)}"
        )
    model, segment, channel, answer, *flags = fields
    check_id(model)
    if answer.lower() not in ("target", "nontarget"):
        raise ValueError(f"a trial is target or nontarget, got {answer!r}")
    odd = next((flag for flag in flags if flag.upper() not in ("Y", "N")), None)
    if odd is not None:
        raise ValueError(f"a condition is Y or N, got {odd!r}")
    holds = (number for number, flag in enumerate(flags, 1) if flag.upper() == "Y")
    return Trial(
        model, _side(segment, channel), answer.lower() == "target", frozenset(holds)
    )


def _side(segment: str, channel: str) -> Side:
    name = re.sub(r"\.sph$", "", segment, flags=re.IGNORECASE)
    if not name or channel.lower() not in _CHANNELS:
        raise ValueError(
            f"a side is a segment and channel a or b, got {segment!r} and {channel!r}"
        )
    return Side(check_id(name), _CHANNELS[channel.lower()])
