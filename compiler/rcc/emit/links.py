"""`.rcc/links.json`: which results a link has named, in order, so that one can go back."""

from __future__ import annotations

import json
from pathlib import Path

from rcc.diagnostic import Findings, finding
from rcc.emit.store import Store
from rcc.lock.write import canonical
from rcc.plan.canonical import plain
from rcc.quick import dataclass
from rcc.source import whole

NAME = "links.json"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """The link named this result, of the recipe with this id."""

    link: str
    id: str
    result: str


Log = tuple[Entry, ...]


def read_log(store: Store) -> tuple[Log | None, Findings]:
    """The log, oldest first; empty where none was written yet."""
    path = store.root / NAME
    try:
        values = json.loads(path.read_bytes())
        if values["version"] != VERSION:
            raise ValueError
        return tuple(Entry(**entry) for entry in values["links"]), ()
    except FileNotFoundError:
        return (), ()
    except (ValueError, KeyError, TypeError) as error:
        message = f"the order of builds cannot be read: {type(error).__name__}"
        help = f"remove `{path}`; what it knew about former builds is lost then"
        return None, (finding("RCC1104", message, whole(str(path)), help=help),)


def write_log(store: Store, log: Log) -> None:
    """Writes the log, whole or not at all."""
    store.write(store.root / NAME, canonical({"version": VERSION, "links": plain(log)}).encode())


def record(log: Log, entry: Entry, current: str | None) -> Log:
    """The log after the link moves from the result `current` onto the entry's.

    What the link names now becomes the former one, also where somebody had gone back to it.
    """
    others = tuple(one for one in log if one != entry)
    now = tuple(one for one in others if one.link == entry.link and one.result == current)
    return (*(one for one in others if one not in now), *now, entry)


def former(log: Log, link: str, current: str) -> Entry | None:
    """The build of the same id that the link named before `current`."""
    mine = [one for one in log if one.link == link]
    index = next((i for i, one in enumerate(mine) if one.result == current), None)
    if index is None:
        return None
    return next((one for one in reversed(mine[:index]) if one.id == mine[index].id), None)


def target(beside: Path, name: str) -> str | None:
    """The result that a link of ours names; None for anything else."""
    try:
        text = Path(beside / name).readlink()
    except OSError:
        return None
    return text.name if text.parent == Path(".rcc/store") else None
