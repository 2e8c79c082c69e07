"""`.rcc/links.json`: which results a link has named, in order, so that one can go back."""

from __future__ import annotations

from pathlib import Path

from rcc.diagnostic import Findings, finding
from rcc.emit.store import Store
from rcc.emit.stored import read_stored
from rcc.lock.write import canonical
from rcc.plan.canonical import plain
from rcc.quick import dataclass
from rcc.recipe.shape import array, integer, record, string
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
        log, why = read_stored(path.read_bytes(), _LOG)
    except FileNotFoundError:
        return (), ()
    if why:
        message = f"the order of builds cannot be read: {why}"
        help = f"remove `{path}`; what it knew about former builds is lost then"
        return None, (finding("RCC1104", message, whole(str(path)), help=help),)
    return log, ()


_text = string()
_result = string(r"(?!\.{1,2}$)[^/\0]+", "a result's name")
_LOG = record(
    lambda version, links: links,
    {
        "version": integer(VERSION, VERSION),
        "links": array(record(Entry, {"link": _text, "id": _text, "result": _result}, ("link", "id", "result"))),
    },
    ("version", "links"),
)


def write_log(store: Store, log: Log) -> None:
    """Writes the log, whole or not at all."""
    store.write(store.root / NAME, canonical({"version": VERSION, "links": plain(log)}).encode())


def moved(log: Log, entry: Entry, current: str | None) -> Log:
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
