"""Threads that share a list of chunks, one failure of which ends them all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

_TICK = 0.1


class Ended(Exception):  # noqa: N818 - no error: what ended the crew is
    """Raised in the middle of a long job, because the crew is to end."""


def work(
    job: Callable[[int, int], None],
    indices: Iterable[int],
    size: int,
    tick: Callable[[], None],
    stop: threading.Event,
) -> None:
    """Calls `job(member, index)` for all indices on `size` threads, and `tick` now and then on this one.

    Raises the first failure, after the others have ended: what they hold may be closed then. `stop` is set meanwhile.
    """
    todo, lock = iter(indices), threading.Lock()
    failures: list[BaseException] = []

    def member(number: int) -> None:
        while not stop.is_set():
            with lock:
                index = next(todo, None)
            if index is None:
                return
            try:
                job(number, index)
            except BaseException as error:
                failures.append(error)
                stop.set()

    threads = [threading.Thread(target=member, args=(number,), daemon=True) for number in range(size)]
    for thread in threads:
        thread.start()
    try:
        while alive := [thread for thread in threads if thread.is_alive()]:
            alive[0].join(_TICK)
            tick()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
