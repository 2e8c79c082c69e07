"""Makes what was written durable, then notes it in the ledger, while others go on writing."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from rcc_node.ledger import Ledger

CACHED_LIMIT = 256 << 20
"""Bytes that the page cache may hold because they are not synced yet."""

INTERVAL = 2.0
LIMITED_INTERVAL = 0.1
"""Seconds between two syncs: what a kill costs. A disk does little else meanwhile, so they are not shorter."""


class Flusher:
    """Told of every write by `written`, syncs and notes on a thread of its own."""

    def __init__(self, ledger: Ledger, limited: bool) -> None:
        self._ledger = ledger
        self._interval = LIMITED_INTERVAL if limited else INTERVAL
        self._pending: dict[int, tuple[int, int, Any]] = {}
        self._cached = 0
        self._last = time.monotonic()
        self._closing = False
        self._failure: BaseException | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def written(self, index: int, fd: int, count: int, digest: Any, cached: int) -> None:
        """The first `count` bytes of a chunk are written. Waits while the page cache holds too much: `cached` more."""
        with self._changed:
            if not self._pending or self._cached + cached >= CACHED_LIMIT // 2:  # else it waits for its time
                self._changed.notify_all()
            self._pending[index] = (fd, count, digest)
            self._cached += cached
            while self._cached > CACHED_LIMIT and self._failure is None:
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
            while not self._closing and self._cached < CACHED_LIMIT // 2:
                if (left := end - time.monotonic()) <= 0:
                    break
                self._changed.wait(left)
            self._last = time.monotonic()
            return bool(self._pending)

    def _flush(self) -> None:
        with self._changed:
            batch, self._pending = self._pending, {}
            covered = self._cached
        for fd in {fd for fd, _, _ in batch.values()}:
            os.fdatasync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        for index, (_, count, digest) in batch.items():
            self._ledger.note(index, count, digest.hexdigest())
        self._ledger.sync()
        with self._changed:
            self._cached -= covered
            self._changed.notify_all()
