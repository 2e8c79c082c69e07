"""Runs `stage` again and again in forked processes that die, as a node's would that loses its power or is killed.

A program of its own, so that what it forks has one thread: `python -m tests.support.crash steps|KILLS ARGUMENTS`.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from rcc_node import fresh, mend, snapshot, sparse  # noqa: F401 - loaded once, not in every run
from rcc_node.cli import main

STEPS = ("fsync", "fdatasync", "rename", "unlink", "pwrite", "ftruncate", "mkdir", "rmdir")
"""Calls that change the disk: a kill between any two of them leaves another state."""


def at_step(number: int) -> None:
    """Makes this process die before its `number`th call of `STEPS`."""
    left = [number]

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **keywords: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
                signal.pause()
            return call(*arguments, **keywords)

        return run

    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))


def forked(arguments: list[str], prepare: Callable[[], None]) -> int:
    """The process id of a run."""
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        prepare()
        os._exit(main(arguments))
    return child


def ended(child: int) -> int:
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def by_steps(arguments: list[str]) -> None:
    """Dies at the first step, then at the second, and so on until a run gets through; prints how many died."""
    number = 0
    while True:
        status = ended(forked(arguments, partial(at_step, number)))
        if status != -signal.SIGKILL:
            break
        number += 1
    print(number, status)


def by_time(kills: int, ledger: str, arguments: list[str]) -> None:
    """Dies at random instants, every other time after the ledger grew; prints how many runs were at work then."""
    generator = random.Random(kills)
    at_work = 0
    for number in range(kills):
        before = _content(ledger)
        child = forked(arguments, lambda: None)
        while number % 2 and _content(ledger) == before:
            time.sleep(0.01)
        time.sleep(generator.uniform(0, 0.12))
        at_work += os.waitpid(child, os.WNOHANG) == (0, 0)
        os.kill(child, signal.SIGKILL)
        ended(child)
    print(at_work)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


if __name__ == "__main__":
    how, *rest = sys.argv[1:]
    if how == "steps":
        by_steps(rest)
    else:
        by_time(int(how), rest[0], rest[1:])
