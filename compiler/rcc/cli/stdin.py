"""What a command reads: a file, or for `-` the standard input."""

from __future__ import annotations

import errno
import os
import stat
import sys

import click

STDIN = "-"
MOST = 64 << 20
"""Bytes that no text of ours has."""
_USUAL = 64 << 10
_PIPES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")

stdin_filename_option = click.option(
    "--stdin-filename", metavar="NAME", default="stdin.recipe.toml", help="What `-`, the standard input, is called."
)


def read_bytes(path: str) -> bytes:
    """A file's bytes; of one with more than `MOST`, one more than these. Raises OSError.

    Of what is no regular file only a pipe that the shell gives, as `/dev/stdin` and `/dev/fd/63`, is read: any other
    one may wait for a writer forever.
    """
    with open(path, "rb", opener=_at_once) as file:
        data = file.read(_USUAL)  # to make room for the most takes longer than to read a recipe
        return data + file.read(MOST + 1 - _USUAL) if len(data) == _USUAL else data


def _at_once(path: str, flags: int) -> int:
    """Opens a file without waiting for anybody."""
    handle = os.open(path, flags | os.O_NONBLOCK)
    mode = os.fstat(handle).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        if not path.startswith(_PIPES):
            os.close(handle)
            raise OSError(errno.EINVAL, "not a regular file", path)
        os.set_blocking(handle, True)
    return handle


def read_input(name: str) -> bytes:
    """The same, or what the standard input has."""
    return sys.stdin.buffer.read(MOST + 1) if name == STDIN else read_bytes(name)
