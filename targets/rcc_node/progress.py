"""How far a long job is: a bar on a terminal, a line every few seconds otherwise."""

from __future__ import annotations

import os
import threading
import time
from typing import TextIO

from rcc_node.units import duration, size

_LINE_SECONDS = 5.0
_BAR_SECONDS = 0.2


class Progress:
    """Counts bytes of `total`; `show` prints what is due."""

    def __init__(self, label: str, total: int, out: TextIO | None) -> None:
        self._label = label
        self._total = total
        self._out = out
        self._bar = out is not None and out.isatty() and os.environ.get("TERM") != "dumb"
        self._start = time.monotonic()
        self._shown = self._start
        self._lock = threading.Lock()
        self.done = 0
        self.fresh = 0

    def add(self, count: int, fresh: bool = True) -> None:
        """Counts bytes; those that are not `fresh` were there before and are no measure of speed."""
        with self._lock:
            self.done += count
            self.fresh += count if fresh else 0

    def show(self) -> None:
        now = time.monotonic()
        if self._out is None or now - self._shown < (_BAR_SECONDS if self._bar else _LINE_SECONDS):
            return
        self._shown = now
        text = f"{self._label}: {self._figures(now - self._start)}"
        self._out.write(f"\r{self._drawn(text)}\x1b[K" if self._bar else f"{text}\n")
        self._out.flush()

    def end(self) -> None:
        """Clears the bar."""
        if self._out is not None and self._bar:
            self._out.write("\r\x1b[K")
            self._out.flush()

    def _figures(self, seconds: float) -> str:
        rate = self.fresh / seconds if seconds else 0.0
        left = f", {duration((self._total - self.done) / rate)} left" if rate else ""
        share = 100 * self.done // self._total if self._total else 100
        return f"{size(self.done)} of {size(self._total)} ({share} %), {size(rate)}/s{left}"

    def _drawn(self, text: str) -> str:
        width = min(30, _columns(self._out) - len(text) - 4)
        if width < 5:
            return text
        filled = width * self.done // self._total if self._total else width
        bar = "=" * filled
        if not os.environ.get("NO_COLOR"):
            bar = f"\x1b[32m{bar}\x1b[0m"
        return f"[{bar}{' ' * (width - filled)}] {text}"


def _columns(out: TextIO | None) -> int:
    try:
        return (os.get_terminal_size(out.fileno()).columns if out else 0) or 80
    except OSError:
        return 80
