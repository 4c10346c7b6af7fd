"""Answer keys of the NIST speaker recognition evaluations since 2008.

A key names models (enrolled speakers, each with one or more sides) and trials (a model,
a test side, and whether the speaker of the model is on it). NIST has used two forms:

* until 2012, fields separated by commas or blanks, whose meaning depends on their
  position: models with sides as ``segment:channel``, and trials with a column of Y or N
  for each common condition;
* since 2016, tables separated by tabs with the names of the columns in the first line.

`EVALUATIONS` says which files an evaluation has, and how it is usually scored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from sys import intern
from types import MappingProxyType
from typing import NamedTuple

from sms_diar._text import check_id
from sms_diar._validation import check_choice
from sms_diar.errors import ConfigError, DataFormatError, InvalidParameterError
from sms_diar.io._lines import scan_lines
from sms_diar.metrics.verification import NIST_COSTS, DetectionCost, det_curve
from sms_diar.types import BoolArray, FloatArray

SIDES = ("both", "training", "test")
GENDERS = ("m", "f", "all")

_GENDERS = {sex: {"gender": sex} for sex in ("f", "m", "")}
_CHANNELS = {"a": 1, "b": 2, "1": 1, "2": 2}
_SUFFIX = re.compile(r"\.(sph|wav|flac)$", re.IGNORECASE)
_NOT_SCORED = "NOT_SCORED"  # speaker of a model of 2010 that is in no scored trial


@dataclass(frozen=True)
class Evaluation:
    """Files of an evaluation, by patterns of their names, and its usual scoring.

    Parameters
    ----------
    title : str
        Name for reports.
    trial_key, models : str
        Files of the trials and of the models; several files of models are joined.
    speakers, genders : str, default=""
        Tables of the speaker and of the gender of each model, if models have none.
    n_conditions : int, default=0
        Common conditions, one column of the trial key each; 0 for a table whose first
        line has the names of the columns.
    skipped : int, default=0
        Columns between the class of a trial and its conditions.
    has_scored : bool, default=False
        The first skipped column is N for trials that are not scored.
    condition, gender, where : default=0, "all", ()
        Usual selection of trials.
    suffix : str, default=""
        Only trials of files with this suffix.
    cost : DetectionCost
        NIST's cost.
    """

    title: str
    trial_key: str
    models: str
    cost: DetectionCost
    speakers: str = ""
    genders: str = ""
    n_conditions: int = 0
    skipped: int = 0
    has_scored: bool = False
    condition: int = 0
    gender: str = "all"
    where: tuple[str, ...] = ()
    suffix: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """Patterns of the names of all files."""
        names = (self.trial_key, self.models, self.speakers, self.genders)
        return tuple(name for name in names if name)


EVALUATIONS = MappingProxyType(
    {
        2008: Evaluation(
            "NIST SRE 2008, short2-short3",
            "NIST_SRE08_short2-short3.trial.key",
            "NIST_SRE08_short2.model.key",
            NIST_COSTS["sre08"],
            n_conditions=8,
            condition=7,
            gender="m",
        ),
        2010: Evaluation(
            "NIST SRE 2010, coreext-coreext",
            "*coreext-coreext.trialkey.csv",
            "*coreext.trn",
            NIST_COSTS["sre10"],
            speakers="*coreext.modelkey.csv",
            n_conditions=9,
            skipped=1,
            has_scored=True,
            condition=5,
        ),
        2012: Evaluation(
            "NIST SRE 2012, core-core",
            "NIST_SRE12_core_trial_key*.csv",
            "NIST_SRE12_*target_speaker_2_files_map*.txt",
            NIST_COSTS["sre12"],
            genders="NIST_SRE12_*target_speaker_speakertable*.csv",
            n_conditions=5,
            skipped=1,
            condition=2,
        ),
        2016: Evaluation(
            "NIST SRE 2016",
            "sre16_eval_trial_key.tsv",
            "sre16_eval_enrollment.tsv",
            NIST_COSTS["sre16"],
        ),
        2018: Evaluation(
            "NIST SRE 2018, CMN2",
            "sre18_eval_trial_key.tsv",
            "sre18_eval_enrollment.tsv",
            NIST_COSTS["sre18"],
            where=("data_source=cmn2",),
            suffix=".sph",
        ),
        2019: Evaluation(
            "NIST SRE 2019, CTS challenge",
            "sre19_cts_challenge_trial_key.tsv",
            "sre19_cts_challenge_enrollment.tsv",
            NIST_COSTS["sre19-cts"],
            where=("test_set=eval",),
        ),
        2020: Evaluation(
            "NIST SRE 2020, CTS challenge",
            "2020_cts_challenge_trial_key.tsv",
            "2020_cts_challenge_enrollment.tsv",
            DetectionCost((0.05,)),
        ),
        2021: Evaluation(
            "NIST SRE 2021, CTS",
            "sre21_audio_eval_trial_key.tsv",
            "sre21_audio_eval_enrollment.tsv",
            DetectionCost((0.01, 0.05)),
            suffix=".sph",
        ),
    }
)
"""Evaluations by year."""


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
    """Target speaker, and the sides on which the model is trained.

    `gender` and `speaker` are empty if the key does not have them. `paths` are the
    files of the sides as the key names them.
    """

    id: str
    gender: str
    sides: tuple[Side, ...]
    speaker: str
    paths: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial: whether the speaker of a model speaks on a test side.

    `conditions` are the common conditions, from 1. `columns` are further columns of
    tables that name them, and `path` is the file as the key names it.
    """

    model: str
    side: Side
    is_target: bool
    conditions: frozenset[int] = frozenset()
    columns: Mapping[str, str] = field(default_factory=dict)
    path: str = field(default="", compare=False)


@dataclass(frozen=True)
class Selection:
    """Sides whose speaker is known, and the gender of each speaker ("f" or "m")."""

    speakers: Mapping[Side, str]
    genders: Mapping[str, str]


def read_models(paths: Sequence[Path], layout: Evaluation) -> dict[str, Model]:
    """Read the models of all files, by id."""
    models: dict[str, Model] = {}
    for path in paths:
        rows = _listed_models(path) if layout.n_conditions else _table_models(path)
        for model in rows:
            earlier = models.get(model.id)
            if earlier is not None:
                model = replace(  # noqa: PLW2901 - one more side of the model
                    model,
                    sides=(*earlier.sides, *model.sides),
                    paths=(*earlier.paths, *model.paths),
                )
            models[model.id] = model
        if not models:
            raise DataFormatError("holds no models", path=path)
    return models


def with_column(
    models: Mapping[str, Model], paths: Sequence[Path], column: str
) -> dict[str, Model]:
    """Add the "speaker" or the "gender" of models from tables of pairs.

    Models whose speaker is ``NOT_SCORED`` are removed.
    """
    known = dict(models)
    for path in paths:
        for number, text, fields in _rows(path):
            if len(fields) < 2 or fields[0] not in known:
                continue  # the names of the columns, or a model without trials
            if fields[1] == _NOT_SCORED:
                del known[fields[0]]
                continue
            try:
                model = known[fields[0]]
                known[fields[0]] = (
                    replace(model, gender=_gender(fields[1]))
                    if column == "gender"
                    else replace(model, speaker=check_id(fields[1]))
                )
            except ValueError as error:
                raise DataFormatError(
                    str(error), path=path, line=number, text=text
                ) from error
    return known


def read_trial_key(path: str | Path, layout: Evaluation) -> Iterator[Trial]:
    """Yield the trials in file order, except for those that are not scored."""
    heads: list[str] = []
    for number, text, fields in _rows(path):
        if not layout.n_conditions and not heads:
            heads = _heads(path, fields, "targettype")
            continue
        try:
            trial = _named_trial(heads, fields) if heads else _trial(fields, layout)
        except ValueError as error:
            if number == 1:  # names of the columns
                continue
            raise DataFormatError(
                str(error), path=path, line=number, text=text
            ) from error
        if trial is not None:
            yield trial


def chosen_trials(
    trials: Iterable[Trial],
    models: Mapping[str, Model],
    layout: Evaluation,
    *,
    condition: int = 0,
    gender: str = "",
    where: Sequence[str] = (),
) -> list[Trial]:
    """Select trials of known models by condition, gender and columns.

    `condition` 0, and an empty `gender` or `where`, stand for the usual selection of
    the evaluation. `where` has entries ``column=value``.
    """
    number = condition or layout.condition
    if not 0 <= number <= layout.n_conditions:
        raise InvalidParameterError(
            f"must be a whole number in 1 .. {layout.n_conditions}, got {condition!r}"
            if layout.n_conditions
            else f"must be 0, because the key has no conditions, got {condition!r}",
            owner="chosen_trials",
            parameter="condition",
        )
    sex = gender or layout.gender
    check_choice("chosen_trials", "gender", sex, GENDERS)
    wanted = dict(_parsed_column(text) for text in (where or layout.where))
    chosen = []
    for trial in trials:
        model = models.get(trial.model)
        if model is None or (number and number not in trial.conditions):
            continue
        missing = [name for name in wanted if name not in trial.columns]
        if missing:
            raise ConfigError(
                f"'where' must name columns of the trial key ("
                f"{', '.join(trial.columns) or 'it has none'}), got {missing[0]!r}"
            )
        if any(trial.columns[name] != value for name, value in wanted.items()):
            continue
        if sex != "all" and (model.gender or trial.columns.get("gender", "")) != sex:
            continue
        paths = (*model.paths, trial.path)
        if all(path.lower().endswith(layout.suffix) for path in paths):
            # There may be millions of trials, and no other column is used later.
            known = _GENDERS[trial.columns.get("gender", "")]
            chosen.append(replace(trial, columns=known))
    return chosen


def select_sides(
    models: Mapping[str, Model], trials: Sequence[Trial], *, sides: str = "both"
) -> Selection:
    """Find the sides of selected trials whose speakers are known.

    The speaker of a test side follows from its target trials; a test side without any
    is not used. `sides` selects the sides on which models are trained ("training"),
    the sides of target trials ("test"), or "both".
    """
    check_choice("select_sides", "sides", sides, SIDES)
    names = _speaker_names(models, trials)
    speakers: dict[Side, str] = {}
    genders: dict[str, str] = {}
    for trial in trials:
        model, name = models[trial.model], names[trial.model]
        genders[name] = model.gender or trial.columns.get("gender", "")
        if sides != "test":
            for side in model.sides:
                _assign(speakers, side, name)
        if sides != "training" and trial.is_target:
            _assign(speakers, trial.side, name)
    ordered = {side: speakers[side] for side in sorted(speakers)}
    left = sorted(set(speakers.values()))
    return Selection(ordered, {name: genders[name] for name in left if genders[name]})


def trial_figures(
    scores: FloatArray, is_target: BoolArray, cost: DetectionCost
) -> dict[str, float | list[float]]:
    """Return the equal error rate and minimum normalised costs of scored trials.

    "min_dcf" has the minimum for each prior and "min_cost" their mean. Both arrays are
    of shape (n_trials,).
    """
    curve = det_curve(scores, is_target)
    minima = [replace(cost, p_target=(p,)).min_of(curve) for p in cost.p_target]
    return {"eer": curve.eer, "min_dcf": minima, "min_cost": cost.min_of(curve)}


def _speaker_names(
    models: Mapping[str, Model], trials: Sequence[Trial]
) -> dict[str, str]:
    """Return the speaker of each model.

    Without speakers in the key, models that share a side, of enrolment or of a target
    trial, belong to one speaker, who is named after the first of them.
    """
    first: dict[str, str] = {}

    def name_of(model: str) -> str:
        while first.setdefault(model, model) != model:
            model = first[model]
        return model

    owner: dict[Side, str] = {}
    for trial in trials:
        model = models[trial.model]
        if model.speaker:
            continue
        for side in (*model.sides, *((trial.side,) if trial.is_target else ())):
            pair = sorted(
                (name_of(owner.setdefault(side, model.id)), name_of(model.id))
            )
            first[pair[1]] = pair[0]
    return {t.model: models[t.model].speaker or name_of(t.model) for t in trials}


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
        yield line.number, line.text, [entry.strip() for entry in fields]


def _heads(path: str | Path, fields: Sequence[str], *needed: str) -> list[str]:
    """Return the names of the columns; 2016 calls the segment by another name."""
    heads = ["segmentid" if head == "segment" else head for head in fields]
    missing = [name for name in ("modelid", "segmentid", *needed) if name not in heads]
    if missing:
        raise DataFormatError(
            f"the first line must have the names of the columns, got no "
            f"{', '.join(missing)}",
            path=path,
            line=1,
        )
    return heads


def _listed_models(path: Path) -> Iterator[Model]:
    for number, text, fields in _rows(path):
        try:
            model = _model([word for entry in fields for word in entry.split()])
        except ValueError as error:
            if number == 1:
                continue
            raise DataFormatError(
                str(error), path=path, line=number, text=text
            ) from error
        yield model


def _table_models(path: Path) -> Iterator[Model]:
    heads: list[str] = []
    for number, text, fields in _rows(path):
        if not heads:
            heads = _heads(path, fields)
            continue
        try:
            row = _row(heads, fields)
            side = _side(row["segmentid"], row.get("side", "a"))
            model = Model(
                check_id(row["modelid"]), "", (side,), "", (row["segmentid"],)
            )
        except ValueError as error:
            raise DataFormatError(
                str(error), path=path, line=number, text=text
            ) from error
        yield model


def _row(heads: Sequence[str], fields: Sequence[str]) -> dict[str, str]:
    if len(fields) != len(heads):
        raise ValueError(f"a line has {len(heads)} fields, got {len(fields)}")
    return dict(zip(heads, fields, strict=True))


def _model(words: Sequence[str]) -> Model:
    sides = [word for word in words if ":" in word]
    others = [word for word in words if ":" not in word]
    if not others or not sides:
        raise ValueError(
            f"a model has an id, perhaps a gender, sides as segment:channel and "
            f"perhaps a speaker, got {len(words)} fields"
        )
    parts = [word.rpartition(":") for word in sides]
    return Model(
        check_id(others[0]),
        _gender(others[1]) if len(others) > 1 else "",
        tuple(_side(segment, channel) for segment, _, channel in parts),
        check_id(others[2]) if len(others) > 2 else "",
        tuple(segment for segment, _, _ in parts),
    )


def _trial(fields: Sequence[str], layout: Evaluation) -> Trial | None:
    expected = 4 + layout.skipped + layout.n_conditions
    if len(fields) != expected:
        raise ValueError(
            f"a trial has {expected} fields (model, segment, channel, target, "
            f"{layout.n_conditions} conditions), got {len(fields)}"
        )
    model, segment, channel, answer, *rest = fields
    flags = rest[layout.skipped :]
    odd = next((flag for flag in flags if flag.upper() not in ("Y", "N")), None)
    side, is_target = _side(segment, channel), _is_target(answer)
    if odd is not None:
        raise ValueError(f"a condition is Y or N, got {odd!r}")
    if layout.has_scored and rest[0].upper() == "N":
        return None
    holds = (number for number, flag in enumerate(flags, 1) if flag.upper() == "Y")
    conditions = frozenset(holds)
    return Trial(intern(check_id(model)), side, is_target, conditions, path=segment)


def _named_trial(heads: Sequence[str], fields: Sequence[str]) -> Trial:
    row = _row(heads, fields)
    segment = intern(row.pop("segmentid"))
    if "gender" in row:
        row["gender"] = _gender(row["gender"])
    return Trial(
        intern(check_id(row.pop("modelid"))),
        _side(segment, row.pop("side", "a")),
        _is_target(row.pop("targettype")),
        columns=row,
        path=segment,
    )


def _is_target(answer: str) -> bool:
    word = re.sub("[^a-z]", "", answer.lower())  # known_non_target and others in 2012
    if not word.endswith("target"):
        raise ValueError(f"a trial is target or nontarget, got {answer!r}")
    return not word.endswith("nontarget")


def _gender(text: str) -> str:
    if text.lower() not in ("f", "m", "female", "male"):
        raise ValueError(f"gender must be m or f, got {text!r}")
    return text.lower()[0]


@lru_cache(maxsize=1 << 18)
def _side(segment: str, channel: str) -> Side:
    name = _SUFFIX.sub("", PurePosixPath(segment).name)
    if not name or channel.lower() not in _CHANNELS:
        raise ValueError(
            f"a side is a segment and channel a or b, got {segment!r} and {channel!r}"
        )
    return Side(check_id(name), _CHANNELS[channel.lower()])


def _parsed_column(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ConfigError(f"'where' must have entries column=value, got {text!r}")
    return name, value
