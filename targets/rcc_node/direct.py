"""Reading past the page cache: a check must see the disk, and a copy must not push out what others cached."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from mmap import mmap

BLOCK = 4096
"""Alignment that every file system's direct I/O accepts."""

_CANNOT = (errno.EINVAL, errno.EOPNOTSUPP)


def buffer_for(length: int) -> mmap:
    """Shared, page-aligned memory for reads of up to `length` bytes at any offset."""
    return mmap(-1, (length + 3 * BLOCK - 1) // BLOCK * BLOCK)


class DirectFile:
    """A file read with O_DIRECT where its file system can, else with its pages dropped before and after."""

    def __init__(self, open_file: Callable[[int], int]) -> None:
        """`open_file` opens the file with the flags that it is given."""
        self._file = open_file(os.O_RDONLY | os.O_CLOEXEC)
        self._direct: int | None = None
        try:
            self._direct = open_file(os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT)
        except OSError as error:
            if error.errno not in _CANNOT:
                os.close(self._file)
                raise

    def close(self) -> None:
        for handle in (self._file, self._direct):
            if handle is not None:
                os.close(handle)

    def read(self, buffer: mmap, offset: int, length: int) -> memoryview:
        """Up to `length` bytes from `offset`, in `buffer`; fewer only at the end of the file."""
        skew = offset % BLOCK
        view = memoryview(buffer)
        got = max(0, self._read_direct(view, offset - skew, skew + length) - skew)
        if got < length:
            got += self._read_buffered(view[skew + got : skew + length], offset + got)
        return view[skew : skew + min(got, length)]

    def _read_direct(self, view: memoryview, start: int, length: int) -> int:
        if self._direct is None:
            return 0
        try:
            return os.preadv(self._direct, [view[: -(-length // BLOCK) * BLOCK]], start)
        except OSError as error:
            if error.errno not in _CANNOT:
                raise
            os.close(self._direct)
            self._direct = None
            return 0

    def _read_buffered(self, view: memoryview, start: int) -> int:
        os.posix_fadvise(self._file, start, len(view), os.POSIX_FADV_DONTNEED)
        done = 0
        while done < len(view):
            count = os.preadv(self._file, [view[done:]], start + done)
            if count == 0:
                break
            done += count
        os.posix_fadvise(self._file, start, len(view), os.POSIX_FADV_DONTNEED)
        return done
