"""Reading and writing past the page cache: a check must see the disk, and a copy must not push out what others cached.

Where a file system cannot do that, what is read is dropped from the cache, and what is written when it is synced.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from mmap import MADV_HUGEPAGE, MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Any, TypeAlias

Buffer: TypeAlias = "mmap | memoryview"

BLOCK = 4096
"""Alignment that every file system's direct I/O accepts."""

HUGE = 2 << 20
"""Bytes of a huge page.

A disk is told each stretch of memory by itself, and a virtual one moves a megabyte in one stretch up to four times as
fast as the same in 256 pages.
"""

_CANNOT = (errno.EINVAL, errno.EOPNOTSUPP)


def buffer_for(length: int) -> mmap:
    """Page-aligned memory of one process, for up to `length` bytes at any offset; in huge pages where there are any."""
    buffer = mmap(-1, -(-(length + 2 * BLOCK) // HUGE) * HUGE, MAP_PRIVATE | MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel without them
        buffer.madvise(MADV_HUGEPAGE)
    return buffer


class DirectFile:
    """A file read and written with O_DIRECT where its file system can. Threads may share it, each with its buffer.

    In a buffer, which is page-aligned, bytes lie as in the file: those from `offset` begin at `offset % BLOCK`.
    """

    def __init__(self, open_file: Callable[[int], int], access: int = os.O_RDONLY) -> None:
        """`open_file` opens the file with the flags that it is given."""
        self._file = open_file(access | os.O_CLOEXEC)
        self._direct: int | None = None
        try:
            self._direct = open_file(access | os.O_CLOEXEC | os.O_DIRECT)
        except OSError as error:
            if error.errno not in _CANNOT:
                os.close(self._file)
                raise
        self._past_cache = self._direct is not None

    def close(self) -> None:
        for handle in (self._file, self._direct):
            if handle is not None:
                os.close(handle)

    def fileno(self) -> int:
        """A handle to sync."""
        return self._file

    def read(self, buffer: Buffer, offset: int, length: int) -> memoryview:
        """Up to `length` bytes from `offset`, in `buffer`; fewer only at the end of the file."""
        skew = offset % BLOCK
        view = memoryview(buffer)
        whole = view[: -(-(skew + length) // BLOCK) * BLOCK]
        got = max(0, self._directly(os.preadv, [whole], offset - skew) - skew)
        if got < length:
            got += self._read_cached(view[skew + got : skew + length], offset + got)
        return view[skew : skew + min(got, length)]

    def write(self, buffer: Buffer, offset: int, length: int) -> int:
        """Writes `length` bytes of `buffer`; OSError where the file system cannot take them.

        The number of bytes that the page cache holds until the file is synced.
        """
        data = memoryview(buffer)[offset % BLOCK :][:length]
        head = min(-offset % BLOCK, length)
        whole = (length - head) // BLOCK * BLOCK
        self._write_cached(data[:head], offset)
        direct = self._directly(os.pwrite, data[head : head + whole], offset + head) if whole else 0
        done = head + direct
        self._write_cached(data[done:], offset + done)
        return length - direct

    def _directly(self, call: Callable[[int, Any, int], int], memory: Any, start: int) -> int:
        """Bytes read or written, which may be fewer: the caller does the rest through the cache."""
        if self._direct is None or not self._past_cache:
            return 0
        try:
            return call(self._direct, memory, start)
        except OSError as error:
            if error.errno not in _CANNOT:
                raise
            self._past_cache = False
            return 0

    def _read_cached(self, view: memoryview, start: int) -> int:
        os.posix_fadvise(self._file, start, len(view), os.POSIX_FADV_DONTNEED)
        done = 0
        while done < len(view):
            count = os.preadv(self._file, [view[done:]], start + done)
            if count == 0:
                break
            done += count
        os.posix_fadvise(self._file, start, len(view), os.POSIX_FADV_DONTNEED)
        return done

    def _write_cached(self, data: memoryview, start: int) -> None:
        done = 0
        while done < len(data):
            done += os.pwrite(self._file, data[done:], start + done)
