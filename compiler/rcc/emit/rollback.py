"""The way back to a former build."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rcc.diagnostic import Findings, finding
from rcc.emit.links import former, read_log, target
from rcc.emit.store import not_changed, opened
from rcc.source import whole


def roll_back(out: Path, waiting: Callable[[], None]) -> tuple[str | None, Findings]:
    """Moves a link onto the former build of the same id; gives that result's name."""
    current = target(out.parent, out.name)
    if current is None:
        help = "build first, or name the link with `-o`"
        return None, (finding("RCC1103", f"`{out}` is not a link to a result", whole(str(out)), help=help),)
    try:
        with opened(out.parent, waiting) as store:
            log, found = read_log(store)
            if log is None:
                return None, found
            there = tuple(one for one in log if one.result == current or (store.results / one.result).is_dir())
            entry = former(there, out.name, current)
            if entry is None:
                message = f"there is no former build of the same id that `{out}` could go back to"
                return None, (finding("RCC1112", message, whole(str(out)), help="build the recipe that you want"),)
            store.link(out.name, entry.result)
            return entry.result, ()
    except OSError as error:
        return None, (not_changed(out.parent, error),)
