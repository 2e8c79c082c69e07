"""The disk, as the passes see it."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from rcc.cli.stdin import MOST, read_bytes
from rcc.diagnostic import reason
from rcc.pipeline import CarriedError, CarriedSource

MAX_CARRIED = 1 << 20


class Disk:
    """The files of this machine; paths are from the working folder."""

    def read(self, path: str) -> bytes:
        """A file's bytes; raises OSError, also for one that is larger than any text of ours."""
        data = read_bytes(path)
        if len(data) > MOST:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
        return data

    def carried(self, folder: str, relative: str) -> CarriedSource:
        """A regular file below a folder, at most 1 MiB; raises CarriedError for anything else."""
        if ".." in relative.split("/"):
            raise CarriedError("`..` leads out of the recipe's folder")
        if "\\" in relative:
            raise CarriedError("its name holds a backslash, which not every system takes for a part of one")
        try:
            real = Path(os.path.realpath(os.path.join(folder, relative), strict=True))
            if not real.is_relative_to(os.path.realpath(folder)):
                raise CarriedError("it is a link that leads out of the recipe's folder")
            return _regular(real)
        except OSError as error:
            raise CarriedError(reason(error)) from error


def _regular(path: Path) -> CarriedSource:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise CarriedError("it is not a regular file")
    with path.open("rb") as file:
        data = file.read(MAX_CARRIED + 1)
    if len(data) > MAX_CARRIED:
        raise CarriedError(f"it has more than {MAX_CARRIED} bytes")
    return CarriedSource(data, bool(status.st_mode & stat.S_IXUSR))
