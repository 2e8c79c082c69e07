"""How the inside of this room gives up: one exception with a finding, caught where the room is entered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from rcc.diagnostic import Finding, Findings, finding, reason

Value = TypeVar("Value")


class FetchError(Exception):
    """Something outside of rcc did not give what was asked; `finding` says it all and has no place yet."""

    def __init__(self, code: str, message: str, help: str, notes: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.finding: Finding = finding(code, message, help=help, notes=notes)


def attempt(work: Callable[[], Value]) -> tuple[Value | None, Findings]:
    """What the work gives, or why it does not."""
    try:
        return work(), ()
    except FetchError as error:
        return None, (error.finding,)
    except OSError as error:
        message = f"`{error.filename}` cannot be read: {reason(error)}"
        return None, (finding("RCC1216", message, help="look at that file system, then try again"),)
