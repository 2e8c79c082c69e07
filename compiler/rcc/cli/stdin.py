"""`-`: the standard input in place of a file."""

from __future__ import annotations

import click

STDIN = "-"

stdin_filename_option = click.option(
    "--stdin-filename", metavar="NAME", default="stdin.recipe.toml", help="What `-`, the standard input, is called."
)
