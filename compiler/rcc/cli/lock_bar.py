"""Long work of `rcc lock`: a progress bar, on terminals that can show one, and an end as soon as it is asked for."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from rcc.cli.outcome import INTERRUPTED
from rcc.fetch.progress import Progress, Quiet

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Progress shown on stderr while the work lasts; nothing where that is no terminal or rich is not installed."""
    try:
        bar = _bar() if sys.stderr.isatty() else None
    except ImportError:
        bar = None
    with _ended_at_once(bar):
        if bar is None:
            yield Quiet()
        else:
            with bar:
                yield _Shown(bar)


@contextmanager
def _ended_at_once(bar: RichProgress | None) -> Iterator[None]:
    """Ctrl-C ends the process where it stands: nothing is half written yet, and an answer under way is not waited for.

    What was ignored, as by `nohup`, stays ignored.
    """
    former = signal.getsignal(signal.SIGINT)

    def end(*_: object) -> NoReturn:
        try:
            if bar is not None:
                bar.stop()
        finally:
            os._exit(INTERRUPTED)

    if former is signal.default_int_handler:
        signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def _bar() -> RichProgress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"))
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)


class _Shown:
    """One bar, for one piece of work after the other."""

    def __init__(self, bar: RichProgress) -> None:
        self._bar = bar

    def begin(self, what: str, total: int) -> None:
        for task in self._bar.task_ids:
            self._bar.remove_task(task)
        if total:
            self._bar.add_task(what, total=total)

    def advance(self, units: int) -> None:
        for task in self._bar.task_ids[-1:]:
            self._bar.advance(task, units)
