"""Makes what was written durable, then notes it in the ledger, while others go on writing."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from rcc_node.ledger import Ledger

UNSYNCED_LIMIT = 256 << 20
"""Bytes that may be written and not yet on the disk: memory that the page cache takes meanwhile."""

INTERVAL = 0.5
LIMITED_INTERVAL = 0.1
"""Seconds between two syncs. Under a rate limit a kill should cost no more than these."""


class Flusher:
    """Told of every write by `written`, syncs and notes on a thread of its own."""

    def __init__(self, ledger: Ledger, limited: bool) -> None:
        self._ledger = ledger
        self._interval = LIMITED_INTERVAL if limited else INTERVAL
        self._pending: dict[int, tuple[int, int, Any]] = {}
        self._unsynced = 0
        self._last = 0.0
        self._closing = False
        self._failure: BaseException | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def written(self, index: int, fd: int, count: int, digest: Any, new: int) -> None:
        """The first `count` bytes of a chunk are written, `new` of them just now. Waits while too much is unsynced."""
        with self._changed:
            self._pending[index] = (fd, count, digest)
            self._unsynced += new
            self._changed.notify_all()
            while self._unsynced > UNSYNCED_LIMIT and self._failure is None:
                self._changed.wait()
            if self._failure is not None:
                raise self._failure

    def close(self) -> None:
        """Syncs and notes the rest."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while self._wait():
                self._flush()
        except BaseException as error:
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _wait(self) -> bool:
        """Until there is something to sync that is old or large enough; False once all is done."""
        with self._changed:
            while not self._pending and not self._closing:
                self._changed.wait()
            end = self._last + self._interval
            while not self._closing and self._unsynced < UNSYNCED_LIMIT // 2:
                if (left := end - time.monotonic()) <= 0:
                    break
                self._changed.wait(left)
            self._last = time.monotonic()
            return bool(self._pending)

    def _flush(self) -> None:
        with self._changed:
            batch, self._pending = self._pending, {}
            covered = self._unsynced
        for fd in {fd for fd, _, _ in batch.values()}:
            os.fdatasync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        for index, (_, count, digest) in batch.items():
            self._ledger.note(index, count, digest.hexdigest())
        self._ledger.sync()
        with self._changed:
            self._unsynced -= covered
            self._changed.notify_all()
