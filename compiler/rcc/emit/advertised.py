"""Which targets the installed distributions advertise.

To import `importlib.metadata` and search with it takes a tenth of a small build. So what it finds is kept in the user's
own cache, until a distribution comes, goes or changes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from rcc.own_cache import own_cache
from rcc.quick import dataclass

GROUP = "rcc.targets"


@dataclass(frozen=True, slots=True)
class Advertised:
    """An entry point: a target's name, where it is (`module:name`), and the distribution that says so."""

    name: str
    value: str
    distribution: str


def advertised() -> tuple[Advertised, ...]:
    """Every entry point of the group `rcc.targets`, in order."""
    state = json.dumps(sorted(_state()))
    folder = own_cache()
    file = folder and folder / f"targets-{sha256(json.dumps(sys.path).encode()).hexdigest()[:16]}.json"
    points = (_kept(file, state) if file else None) or _search()
    if file and points:
        _keep(file, state, points)
    return tuple(Advertised(*point) for point in points)


_Points = list[list[str]]


def _search() -> _Points:
    from importlib.metadata import entry_points

    points = entry_points(group=GROUP)
    return sorted([one.name, one.value, one.dist.name if one.dist else "an unknown distribution"] for one in points)


def _state() -> Iterator[tuple[str, int]]:
    """Every distribution on the path, and when what it advertises was written; 0 where it advertises nothing."""
    for folder in sys.path:
        with suppress(OSError), os.scandir(folder or ".") as entries:
            metadata = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
            yield from ((one, _written(f"{one}/entry_points.txt")) for one in metadata)


def _written(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _kept(file: Path, state: str) -> _Points | None:
    try:
        kept = json.loads(file.read_bytes())
        return kept["points"] if kept["state"] == state else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(file: Path, state: str, points: _Points) -> None:
    partial = file.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        partial.write_text(json.dumps({"state": state, "points": points}), "utf-8")
        partial.replace(file)
