"""One packer at a time for each `dst`."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rcc_node.errors import NodeError
from rcc_node.place import OURS, Place

NAME = f"{OURS}/lock"
_NO_WRITE = (errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def held(place: Place, purpose: str, wait: bool, waiting: Callable[[str], None]) -> Iterator[None]:
    """Holds the place's lock; calls `waiting` with the holder's name before it waits for another."""
    with place.failures():
        fd, writable = _open(place)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(fd, 200, 0).decode(errors="replace").strip() or "another process"
            if not wait:
                raise _busy(place, holder) from None
            waiting(holder)
            fcntl.flock(fd, fcntl.LOCK_EX)
        if writable:
            name = f"process {os.getpid()} on {os.uname().nodename} ({purpose})\n".encode()
            os.ftruncate(fd, 0)
            os.pwrite(fd, name, 0)
        yield
    finally:
        os.close(fd)


def _open(place: Place) -> tuple[int, bool]:
    try:
        return place.open(NAME, os.O_RDWR | os.O_CREAT), True
    except OSError as error:
        if error.errno not in _NO_WRITE:
            raise
        try:
            return place.open(NAME, os.O_RDONLY), False  # a read-only place can still be checked
        except FileNotFoundError:
            raise error from None


def _busy(place: Place, holder: str) -> NodeError:
    return NodeError("dst-busy", f"`{place.path}` is in use by {holder}", "wait for it, or run without --no-wait")
