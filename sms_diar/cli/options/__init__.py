"""Options that several commands share."""

from functools import partial

from typer import Option

output_option = partial(Option, rich_help_panel="Output")
"""Option in the panel about output."""
