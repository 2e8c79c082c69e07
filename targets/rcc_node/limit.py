"""A rate limit without credit: time that was not used is not made up for, so there are no bursts."""

from __future__ import annotations

import threading
import time

BURSTS_A_SECOND = 20


class Limiter:
    """At most `rate` bytes a second over all threads, in pieces of a twentieth of a second; None is no limit."""

    def __init__(self, rate: int | None) -> None:
        self._rate = rate
        self._free_at = 0.0
        self._lock = threading.Lock()

    @property
    def limited(self) -> bool:
        return self._rate is not None

    def piece(self, length: int) -> int:
        """How much of `length` bytes to read at once."""
        return length if self._rate is None else min(length, max(1, self._rate // BURSTS_A_SECOND))

    def take(self, length: int) -> None:
        """Waits until `length` bytes may be read."""
        if self._rate is None:
            return
        with self._lock:
            start = max(time.monotonic(), self._free_at)
            self._free_at = start + length / self._rate
        time.sleep(max(0.0, start - time.monotonic()))
