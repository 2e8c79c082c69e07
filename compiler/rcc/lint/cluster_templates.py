"""Templates of a cluster file, which its environments alone take."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from rcc.cluster.keys import LANGUAGE
from rcc.diagnostic import Finding
from rcc.lint.templates import NAMES, OF_MODEL, check_names, check_plain, check_shell_syntax, takes_late_name
from rcc.nearest import meant_name
from rcc.recipe.model import Raw
from rcc.source import Path, Place, Source
from rcc.syntax.document import Document

_OF_RECIPE = r"(?:models|staging)\.[^.]+\.[^.]+"
_SEARCHES = 50


class _Strings:
    """The strings of a cluster file; the first misspelt names are compared with all known ones."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._searches = _SEARCHES

    @property
    def own(self) -> Source:
        return self._document.source

    def inside(self, path: Path, start: int, end: int) -> Place:
        return self._document.string_place(path, start, end)

    def meant(self, name: str, known: Collection[str]) -> str | None:
        self._searches -= 1
        return meant_name(name, known) if self._searches >= 0 else None


def check(document: Document) -> Iterator[Finding]:
    """RCC301, RCC302, RCC303, RCC307 and RCC308 in a cluster file, whatever the recipe."""
    if not any(mark in document.source.text for mark in ("{{", "<<", "$")):
        return
    strings, names = _Strings(document), _names(document.values)
    for path, text in _texts(document.values, ()):
        if takes_late_name(path):
            yield from check_names(strings, Raw(text, path), names, _OF_RECIPE)
        elif _is_read(path):
            yield from check_plain(strings, path, text)
        if takes_late_name(path) or not {"env", "vars"}.isdisjoint(path[:-1]):
            yield from check_shell_syntax(strings, Raw(text, path))


def _names(values: dict[str, Any]) -> frozenset[str]:
    nodes = values.get("nodes")
    tables = [values, *(one for one in (nodes if isinstance(nodes, list) else ()) if isinstance(one, dict))]
    variables = [one["vars"] for one in tables if isinstance(one.get("vars"), dict)]
    own = {f"vars.{name}" for table in variables for name in table}
    return NAMES | own | {f"model.{key}" for key in OF_MODEL}


def _is_read(path: Path) -> bool:
    """Whether the key and the one below it are known: of others something else is said."""
    first, *below = (step for step in path if isinstance(step, str))
    return first in LANGUAGE.keys and (not below or below[0] in LANGUAGE.tables.get(first, below))


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Every string of the file."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict | list):
        for step, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(one, (*path, step))
