"""Writes a file whole or not at all: a lock above all."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress

from rcc.diagnostic import Findings, finding, reason
from rcc.source import whole


def save_lock(path: str, data: bytes) -> Findings:
    """Puts `data` in the place of the file `path` in one step; where that fails, the old file stays as it was.

    A link is followed; the old file's mode is kept.
    """
    target = os.path.realpath(path)
    try:
        replace_file(target, data)
    except OSError as error:
        help = "the old lock is as it was; free space or mend the folder's permissions, then run `rcc lock` again"
        return (finding("RCC617", f"`{path}` cannot be written: {reason(error)}", whole(path), help=help),)
    return ()


def replace_file(target: str, data: bytes) -> None:
    """Puts `data` in the place of a file in one step, with its mode; raises OSError and leaves the old one."""
    try:
        _replace_file(target, data)
    except OSError as error:  # what the temporary file is called helps nobody
        raise OSError(error.errno, error.strerror, target) from error


def _replace_file(target: str, data: bytes) -> None:
    folder, name = os.path.split(target)
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), _mode(target))
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _mode(target: str) -> int:
    try:
        return stat.S_IMODE(os.stat(target).st_mode)
    except FileNotFoundError:
        mask = os.umask(0o077)
        os.umask(mask)
        return 0o666 & ~mask


def _sync_folder(folder: str) -> None:
    # The file is in place whatever comes of this; some network file systems refuse to sync a folder.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
