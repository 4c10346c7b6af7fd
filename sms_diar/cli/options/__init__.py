"""Options that several commands share."""

from functools import partial
from typing import Annotated

from typer import Option

output_option = partial(Option, rich_help_panel="Output")
"""Option in the panel about output."""

JsonOption = Annotated[bool, Option("--json", help="Print JSON.")]
MaxMemory = Annotated[
    str | None,
    Option(
        "--max-memory",
        metavar="SIZE",
        help="Memory limit, such as 2G or 500M (powers of 1024); work that may need "
        "more is refused before it starts. Does not affect results.",
        show_default="no limit",
    ),
]


def memory_budget(size: str | None) -> int | None:
    """Parse the value of ``--max-memory`` to bytes."""
    if size is None:
        return None
    from sms_diar.pipeline.memory import parse_size  # slow import

    return parse_size(size)
