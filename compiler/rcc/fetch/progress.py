"""How far long work is, for who waits for it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told of one piece of work after the other."""

    def begin(self, what: str, total: int) -> None:
        """Work of `total` units begins."""

    def advance(self, units: int) -> None:
        """Some of it is done; called from any thread."""


class Quiet:
    """Tells nobody."""

    def begin(self, what: str, total: int) -> None:
        """Nothing."""

    def advance(self, units: int) -> None:
        """Nothing."""
