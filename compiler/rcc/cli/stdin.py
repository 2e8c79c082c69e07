"""What a command reads: a file, or for `-` the standard input."""

from __future__ import annotations

import sys

import click

STDIN = "-"
MOST = 64 << 20
"""Bytes that no text of ours has."""
_USUAL = 64 << 10

stdin_filename_option = click.option(
    "--stdin-filename", metavar="NAME", default="stdin.recipe.toml", help="What `-`, the standard input, is called."
)


def read_bytes(path: str) -> bytes:
    """A file's bytes; of one with more than `MOST`, one more than these. Raises OSError."""
    with open(path, "rb") as file:
        data = file.read(_USUAL)  # to make room for the most takes longer than to read a recipe
        return data + file.read(MOST + 1 - _USUAL) if len(data) == _USUAL else data


def read_input(name: str) -> bytes:
    """The same, or what the standard input has."""
    return sys.stdin.buffer.read(MOST + 1) if name == STDIN else read_bytes(name)
