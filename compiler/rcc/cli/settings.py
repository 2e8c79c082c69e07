"""`rcc.toml`, or `[tool.rcc]` of a `pyproject.toml`: the nearest one above."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rcc.diagnostic import Finding, Findings, Label, cannot_read, finding
from rcc.quick import dataclass
from rcc.recipe.shape import Problem, Problems, array, record, string
from rcc.source import Path as Keys
from rcc.source import Place
from rcc.syntax.document import Document, Part, read_document

NAME = "rcc.toml"
DEFAULT_OUT = "result"
REPORTS = "reports"
_PLACES: tuple[tuple[str, tuple[str, ...]], ...] = ((NAME, ()), ("pyproject.toml", ("tool", "rcc")))


@dataclass(frozen=True, slots=True)
class Build:
    """An entry of `[[build]]`; paths from the working folder."""

    recipe: str
    cluster: str | None = None
    targets: tuple[str, ...] = ()
    out: str = DEFAULT_OUT


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings' table, and the file that it stands in: `folder` is that file's, from the working folder."""

    document: Document
    folder: str
    table: tuple[str, ...]

    @property
    def values(self) -> dict[str, Any]:
        """The table: of an `rcc.toml` all of it."""
        values: dict[str, Any] = self.document.values
        for key in self.table:
            values = values[key]
        return values

    def place(self, path: Keys, part: Part = "value") -> Place:
        """Where a setting stands."""
        return self.document.place((*self.table, *path), part)

    def path(self, stated: str) -> str:
        """A path that the file states, from the working folder."""
        return os.path.normpath(os.path.join(self.folder, stated))


def find_settings(start: str = ".") -> tuple[Settings | None, Findings]:
    """The nearest settings at or above a folder, up to one with `.git` in it; None where there are none."""
    for folder in folders_above(Path(os.path.realpath(start))):
        for name, table in _PLACES:
            if os.path.isfile(folder / name):
                settings, found = _read(os.path.relpath(folder / name), table)
                if settings or found:
                    return settings, found
    return None, ()


def _read(path: str, table: tuple[str, ...]) -> tuple[Settings | None, Findings]:
    """The settings in a file; neither they nor findings where a `pyproject.toml` is about something else."""
    try:
        document, found = read_document(path, Path(path).read_bytes())
    except OSError as error:
        return None, (cannot_read(path, error),)
    if document is None:
        return None, () if table else found
    values: Any = document.values
    for key in table:
        values = values.get(key) if isinstance(values, dict) else None
    settings = Settings(document, os.path.dirname(path), table)
    return (settings if isinstance(values, dict) else None), ()


def folders_above(start: Path) -> Iterator[Path]:
    """A folder and those above it, up to one with `.git` in it. What cannot be looked at is not there."""
    for folder in (start, *start.parents):
        yield folder
        if os.path.exists(folder / ".git"):
            return


def builds(settings: Settings) -> tuple[tuple[Build, ...], Findings]:
    """The `[[build]]` entries, in their order."""
    problems: Problems = []
    entries: tuple[Build, ...] = _BUILDS(settings.values.get("build", []), ("build",), problems)
    if problems:
        return (), tuple(_problem(settings, one) for one in problems)
    placed = tuple(_placed(settings, entry) for entry in entries)
    return placed, tuple(_in_one_place(settings, placed))


_BUILDS = array(
    record(Build, {"recipe": string(), "cluster": string(), "targets": array(string()), "out": string()}, ("recipe",))
)


def _problem(settings: Settings, one: Problem) -> Finding:
    return finding(one.code, one.message, settings.place(one.path, one.part), help=one.help)


def _placed(settings: Settings, entry: Build) -> Build:
    cluster = settings.path(entry.cluster) if entry.cluster is not None else None
    return Build(settings.path(entry.recipe), cluster, entry.targets, settings.path(entry.out))


def _in_one_place(settings: Settings, entries: tuple[Build, ...]) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for index, entry in enumerate(entries):
        if entry.out in first:
            earlier = Label(settings.place(("build", first[entry.out])), "and this one")
            place = settings.place(("build", index))
            message = f"two builds go to `{entry.out}`"
            yield finding("RCC206", message, place, labels=[earlier], help="give each an `out` of its own")
        first.setdefault(entry.out, index)
