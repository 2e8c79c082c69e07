"""A progress bar for long work of `rcc lock`, on terminals that can show one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rcc.fetch.hashing import Progress, Quiet

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Progress shown on stderr while the work lasts; nothing where that is no terminal or rich is not installed."""
    try:
        bar = _bar() if sys.stderr.isatty() else None
    except ImportError:
        bar = None
    if bar is None:
        yield Quiet()
    else:
        with bar:
            yield _Shown(bar)


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
