"""``sms-diar diarize``: find the speaker turns of recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, BadParameter, Option

from sms_diar.cli.errors import note_problems
from sms_diar.cli.options import MaxMemory, memory_budget, methods, output_option
from sms_diar.cli.options.recordings import (
    AllowCommands,
    Crosstalk,
    QualityName,
    SchedulerOption,
    Strict,
    VadMethod,
    on_scheduler,
)
from sms_diar.cli.options.transcripts import (
    DiarizedWords,
    LanguageOption,
    TranscribeOption,
    WordOutput,
    holds_words,
)
from sms_diar.cli.options.turns import (
    MaxTurnGap,
    MinTurn,
    SplitFolder,
    TurnFiles,
    TurnFormatOption,
    TurnOutput,
)
from sms_diar.cli.terminal.output import (
    check_outputs,
    echo,
    echo_json,
    exit_code,
    note_each,
    note_written,
    with_standard_input,
)
from sms_diar.clustering.methods import DEFAULT_METHOD


def diarize(
    context: typer.Context,
    recordings: Annotated[
        list[Path],
        Argument(
            metavar="RECORDING...",
            help="WAV, FLAC, OGG, Opus, MP3 or NIST SPHERE files, and others (M4A, "
            "MP4, WebM, MKV ...) if ffmpeg is installed; folders of such files; Kaldi "
            "data directories or wav.scp tables; - for standard input.",
        ),
    ],
    *,
    rttm: Annotated[
        Path | None,
        output_option(help="RTTM file to write.", show_default="standard output"),
    ] = None,
    output: TurnFiles = None,
    turn_format: TurnFormatOption = None,
    split: SplitFolder = None,
    method: methods.MethodOption = DEFAULT_METHOD,
    k: methods.KOption = None,
    threshold: methods.ThresholdOption = None,
    num_speakers: methods.NumSpeakers = None,
    min_speakers: methods.MinSpeakers = None,
    max_speakers: methods.MaxSpeakers = None,
    model: Annotated[
        str,
        Option(
            metavar="auto|embedded|neural|PATH",
            help="Model: neural networks, which detect overlap (install them with "
            "'sms-diar models fetch'), the embedded i-vector model, a model from "
            "'sms-diar ivectors train', or a network's TOML file. auto uses the "
            "networks if they are installed.",
        ),
    ] = "auto",
    quality: Annotated[
        QualityName | None,
        Option(
            help="Quality with neural networks: fast takes less time, best more than "
            "twice the time and another network ('sms-diar models fetch best').",
            show_default="balanced",
        ),
    ] = None,
    vad: Annotated[
        VadMethod | None,
        Option(
            help="Speech detector for i-vectors; neural (Silero) needs the extra "
            "'vad'. Neural networks have their own detector.",
            show_default="energy",
        ),
    ] = None,
    step: Annotated[
        float | None,
        Option(
            help="Step between windows of the networks, in seconds.",
            show_default="2; 5 if fast",
        ),
    ] = None,
    uem: Annotated[
        Path | None, Option(help="UEM file; only its regions are processed.")
    ] = None,
    channel: Annotated[
        str | None,
        Option(
            "-c",
            "--channel",
            metavar="N|each",
            help="Channel of multi-channel files, from 1; with 'each', every channel "
            "is one speaker.",
            show_default="all, mixed",
        ),
    ] = None,
    crosstalk: Annotated[
        Crosstalk,
        Option(
            help="With --channel each: keep or remove speech of other channels that is "
            "heard faintly.",
        ),
    ] = Crosstalk.KEEP,
    min_turn: MinTurn = None,
    max_gap: MaxTurnGap = None,
    exclusive: Annotated[
        bool,
        output_option(
            "--exclusive", help="Give overlapped speech to one speaker, the longest."
        ),
    ] = False,
    transcript: Annotated[
        str | None,
        output_option(
            metavar="FILE",
            help="Words with times, which get speakers. Files of -o in a format of "
            "transcripts (.txt, .srt, .json, ...) and standard output have words.",
        ),
    ] = None,
    transcribe: TranscribeOption = None,
    language: LanguageOption = None,
    link: Annotated[
        bool, Option("--link", help="Use the same name for a person in all recordings.")
    ] = False,
    link_threshold: Annotated[
        float, Option(help="Link two speakers above this probability.")
    ] = 0.5,
    enrol: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=FILE",
            help="Reference recording of a known speaker; matching speakers are given "
            "this name. Repeat for other names or for more recordings.",
        ),
    ] = None,
    enrol_threshold: Annotated[
        float, Option(help="Minimum probability to assign an enrolled name.")
    ] = 0.5,
    seed: methods.Seed = 0,
    workers: Annotated[
        int,
        Option(
            min=1,
            help="Number of recordings in parallel, or of threads for a single one; "
            "does not affect results.",
        ),
    ] = 1,
    scheduler: SchedulerOption = None,
    allow_commands: AllowCommands = False,
    strict: Strict = False,
    max_memory: MaxMemory = None,
    as_json: Annotated[
        bool, Option("--json", help="Print turns and summary as JSON.")
    ] = False,
    html: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Write an HTML page for viewing, listening and correcting.",
        ),
    ] = None,
    ref: Annotated[
        Path | None,
        Option(metavar="RTTM", help="Reference turns for the page of --html."),
    ] = None,
) -> None:
    """Find out who spoke when in recordings.

    Each recording is diarized separately: speech is detected, cut into windows of
    1.5 s that overlap, and clustered into speakers. With neural networks, turns may
    overlap. With --link and --enrol, voices are compared and names are consistent
    across recordings; --json includes the probabilities. Nothing is downloaded.
    Recordings that cannot be read or have no speech are reported and skipped; the
    exit code is then 3, and the turns of the others are still written.

    Example: sms-diar diarize call.wav --rttm call.rttm
    """
    from sms_diar.cli.terminal.progress import TerminalProgress

    progress = TerminalProgress()
    methods.check_usage(
        method,
        num_speakers=num_speakers,
        min_speakers=min_speakers,
        max_speakers=max_speakers,
        k=k,
        threshold=threshold,
    )
    if ref is not None and html is None:
        raise BadParameter("requires --html", param_hint="--ref")
    if split is not None and split.exists() and not split.is_dir():
        raise BadParameter(f"{split} is a file; specify a folder", param_hint="--split")
    has_words = bool(transcript or transcribe) and turn_format is None
    word_files = [path for path in output or [] if has_words and holds_words(path)]
    turn_files = [path for path in output or [] if path not in word_files]
    words, turns = WordOutput(word_files), TurnOutput(turn_files, turn_format, split)
    voices = _enrolled(enrol or [])
    enrolled = [file for files in voices.values() for file in files]
    check_outputs(
        *(rttm, html, *turns.new_paths, *words.files),
        inputs=(*recordings, ref, uem, model, transcript, *enrolled),
    )
    paths = context.with_resource(with_standard_input(recordings))
    with progress.stage("loading"):
        import sms_diar

        budget = memory_budget(max_memory)
        turns.check(paths, [rttm, html])

        if ref is not None:
            sms_diar.read_rttm(ref)  # report its errors before the work
        source = DiarizedWords(transcript, transcribe, language, workers, word_files)
        run = progress.during("diarizing", sms_diar.diarize)
    with on_scheduler(scheduler):
        result = run(
            paths,
            method=method,
            k=k,
            threshold=threshold,
            num_speakers=num_speakers,
            min_speakers=min_speakers,
            max_speakers=max_speakers,
            model=model,
            quality=None if quality is None else quality.value,
            vad=None if vad is None else vad.value,
            step=step,
            uem=uem,
            channel=_channel(channel),
            crosstalk=crosstalk.value,
            min_turn=min_turn,
            max_gap=max_gap,
            exclusive=exclusive,
            link=link,
            link_threshold=link_threshold,
            enrol=voices,
            enrol_threshold=enrol_threshold,
            seed=seed,
            workers=workers,
            allow_commands=allow_commands,
            strict=strict,
            max_memory=budget,
            progress=progress,
        )
    note_each(result.recording_notes)
    # Never truncate the notes about names.
    note_each(() if result.naming is None else result.naming.notes, most=None)
    note_problems(context, result.problems)
    if result.recordings:
        spoken = source.spoken(
            result,
            paths,
            channel=_channel(channel),
            allow_commands=allow_commands,
            progress=progress,
        )
        files = [] if spoken is None else words.write(spoken)
        if rttm is not None:
            result.to_rttm(rttm)
            files.append(rttm)
        files += turns.write(
            result, paths, channel=_channel(channel), allow_commands=allow_commands
        )
        if as_json:
            echo_json(result.to_dict())
        elif rttm is None and not output:
            echo(
                words.text(spoken) if spoken and has_words else turns.text(result),
                nl=False,
            )
            echo(result, err=True)
        else:
            echo(result)
        source.finish()
        note_written(files)
        if html is not None:
            from sms_diar.pipeline.page.api import report_page

            page = report_page(
                result,
                audio=paths,
                transcript=spoken,
                reference=ref,
                allow_commands=allow_commands,
                progress=progress,
            )
            note_written(page.write(html))
    raise typer.Exit(exit_code(result.problems, any_good=bool(result.recordings)))


def _enrolled(assignments: list[str]) -> dict[str, list[str]]:
    """Parse NAME=FILE assignments into the files of each name."""
    voices: dict[str, list[str]] = {}
    for text in assignments:
        name, _, path = text.partition("=")
        if not name or not path:
            raise BadParameter(f"must be NAME=FILE, got {text!r}", param_hint="--enrol")
        voices.setdefault(name, []).append(path)
    return voices


def _channel(text: str | None) -> int | str | None:
    """Parse a channel: a number from 1, or "each"."""
    if text is None or text == "each":
        return text
    if not text.isdecimal() or int(text) < 1:
        problem = f"must be a number from 1, or 'each', got {text!r}"
        raise BadParameter(problem, param_hint="--channel")
    return int(text)
