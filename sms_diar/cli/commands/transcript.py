"""``sms-diar transcript``: give the words of a transcript to speakers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter

from sms_diar.cli.options import JsonOption, output_option
from sms_diar.cli.options.transcripts import (
    READABLE,
    WORD_SUFFIXES,
    WordFormatName,
    WordOutput,
)
from sms_diar.cli.terminal.output import check_outputs, echo, echo_json, note_written


def transcript(
    turns: Annotated[
        str,
        Argument(
            metavar="TURNS",
            help="Turns of any supported format, or audio, which is diarized first "
            "('sms-diar diarize --transcript' has options for this).",
        ),
    ],
    words: Annotated[
        str,
        Argument(
            metavar="TRANSCRIPT",
            help="Words with times: JSON of Whisper and others, CTM, subtitles, ...",
        ),
    ],
    *,
    output: Annotated[
        list[Path] | None,
        output_option(
            "-o",
            "--output",
            metavar="FILE",
            help=f"File whose suffix selects the format ({', '.join(WORD_SUFFIXES)}). "
            f"Repeatable.",
        ),
    ] = None,
    format: Annotated[
        WordFormatName | None,
        output_option(
            help="Format of files with other suffixes, and of standard output.",
            show_default=READABLE,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find out who said what: give the words of a transcript to speakers.

    Each word gets the speaker who is most probable by the turns around it, the ends
    of sentences and the words before and after it. Words far from all turns have no
    speaker. Nothing is lost or reordered.

    Example: sms-diar transcript call.rttm call.json -o call.txt
    """
    from sms_diar.cli.terminal.progress import TerminalProgress

    files = output or []
    if turns == words == "-":
        raise BadParameter("- (standard input) is given twice")
    check_outputs(*files, inputs=[turns, words])
    target = WordOutput(files, None if format is None else format.value)
    progress = TerminalProgress()
    with progress.stage("loading"):
        import sms_diar

        run = progress.during("assigning", sms_diar.transcript)
    result = run(turns, words)
    note_written(target.write(result))
    counts: Counter[str | None] = Counter()
    for phrase in result:
        counts[phrase.speaker] += len(phrase.words)
    if as_json:
        summary = {
            "recordings": result.recordings,
            "phrases": len(result),
            "words": counts.total(),
            "speakers": [{"speaker": s, "words": n} for s, n in counts.items()],
            "notes": [remark.with_severity() for remark in result.problems],
        }
        echo_json(summary)
    elif target.files:
        echo(f"{counts.total()} words of {len(result.speakers)} speakers")
    else:
        echo(target.text(result), nl=False)
