"""Waiting for a condition, never for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

LONGEST = 60.0
T = TypeVar("T")


def wait_for(look: Callable[[], T], what: str, longest: float = LONGEST) -> T:
    """The first true answer of `look`; a failure that names `what` if there is none within `longest` seconds."""
    deadline = time.monotonic() + longest
    while not (answer := look()):
        assert time.monotonic() < deadline, f"waited {longest} s in vain for {what}"
        time.sleep(0.02)
    return answer
