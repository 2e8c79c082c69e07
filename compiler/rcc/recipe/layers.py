"""A recipe and the recipes that it extends, merged, with every value's origin kept."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

from rcc.diagnostic import Finding, Findings, cannot_read, finding, first_ones
from rcc.source import Path, Place
from rcc.syntax.document import Document, Part, read_with_duplicates

Read = Callable[[str], bytes]
"""Reads a file by name; raises OSError."""

SPENT = ("extends", "unset")
"""The keys that merge recipes, which are gone in what they make."""

MAX_DEPTH = 100
"""How many recipes may stand one on the other."""


class Layers:
    """Documents from the lowest base to the recipe itself, which is the last; `complete` where no base is lacking."""

    def __init__(self, documents: tuple[Document, ...], *, complete: bool = True) -> None:
        self.documents = documents
        self.complete = complete

    @property
    def values(self) -> dict[str, Any]:
        """Tables merged, arrays and scalars replaced, what `unset` names removed."""
        return self._merged[0]

    @property
    def unset_in_vain(self) -> tuple[tuple[Document, str], ...]:
        """The elements of `unset` that no base has anything for, each with its document."""
        return self._merged[1]

    @cached_property
    def _merged(self) -> tuple[dict[str, Any], tuple[tuple[Document, str], ...]]:
        if len(self.documents) == 1 and not _is_layered(self.documents[0].values):
            return self.documents[0].values, ()
        merged, in_vain = dict[str, Any](), list[tuple[Document, str]]()
        for document in self.documents:
            for path in unset_paths(document.values):
                if not _holds(merged, path):
                    in_vain.append((document, ".".join(path)))
                _remove(merged, path)
            _merge(merged, {k: v for k, v in document.values.items() if k not in SPENT})
        return merged, tuple(in_vain)

    @property
    def torn(self) -> frozenset[str]:
        """The top-level keys of which a part is nowhere, in any of the documents."""
        return frozenset().union(*(one.torn for one in self.documents))

    @property
    def top(self) -> Document:
        """The recipe itself."""
        return self.documents[-1]

    def origin(self, path: Path) -> Document:
        """The document that a value comes from: the highest that holds it or the whole array it stands in."""
        for document in reversed(self.documents):
            if _holds(document.values, path):
                return document
        return self.top

    def has(self, path: Path) -> bool:
        """Whether the merged recipe holds the path."""
        return _holds(self.values, path)

    def place(self, path: Path, part: Part = "value") -> Place:
        """Where a value, or its key, stands."""
        return self.origin(path).place(path, part)


def _is_layered(values: dict[str, Any]) -> bool:
    return any(key in values for key in SPENT)


def _holds(values: Any, path: Path) -> bool:
    for part in path:
        if isinstance(values, dict):
            if part not in values:
                return False
        elif not (isinstance(values, list) and isinstance(part, int) and part < len(values)):
            return False
        values = values[part]
    return True


def _merge(into: dict[str, Any], values: dict[str, Any]) -> None:
    for key, value in values.items():
        if isinstance(value, dict):
            below = into.get(key)
            into[key] = below if isinstance(below, dict) else {}
            _merge(into[key], value)
        else:
            into[key] = value


def unset_paths(values: dict[str, Any]) -> list[tuple[str, ...]]:
    """The paths that a well-formed `unset` removes from the bases."""
    names = values.get("unset")
    return [tuple(name.split(".")) for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _remove(values: dict[str, Any], path: tuple[str, ...]) -> None:
    for part in path[:-1]:
        below = values.get(part)
        if not isinstance(below, dict):
            return
        values = below
    values.pop(path[-1], None)


def read_layers(name: str, read: Read) -> tuple[Layers | None, Findings]:
    """Reads a recipe and, depth first, its bases; each file once, the later base over the earlier.

    None where the recipe itself cannot be read. A base that cannot is left out: with errors the layers are a linter's.
    """
    return _Reading(read).run(name)


class _Reading:
    """Documents by name, bases before what extends them."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._documents: dict[str, Document] = {}
        self._found: list[Finding] = []

    def run(self, name: str) -> tuple[Layers | None, Findings]:
        complete = self._add(name, (), None)
        found = tuple(first_ones(self._found))
        if name not in self._documents:
            return None, found
        return Layers(tuple(self._documents.values()), complete=complete), found

    def _add(self, name: str, above: tuple[str, ...], stated: Callable[[], Place] | None) -> bool:
        if name in above:
            loop = " → ".join(f"`{one}`" for one in (*above[above.index(name) :], name))
            place = stated() if stated else None
            self._found.append(finding("RCC208", f"`extends` is a loop: {loop}", place, help="remove one of these"))
            return False
        if name in self._documents:
            return True
        if len(above) == MAX_DEPTH:
            message = f"recipes extend each other more than {MAX_DEPTH} deep"
            place = stated() if stated else None
            self._found.append(finding("RCC208", message, place, help="put what they have in common into fewer files"))
            return False
        document = self._open(name, stated)
        if document is None:
            return False
        complete = True
        for path, base in bases(document.values):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), base))
            complete &= self._add(target, (*above, name), partial(document.place, path))
        self._documents[name] = document
        return complete

    def _open(self, name: str, stated: Callable[[], Place] | None) -> Document | None:
        try:
            data = self._read(name)
        except OSError as error:
            help = "a relative path starts at the folder of the file that states it" if stated else None
            self._found.append(cannot_read(name, error, stated() if stated else None, help))
            return None
        document, found = read_with_duplicates(name, data)
        self._found.extend(found)
        return document


def bases(values: dict[str, Any]) -> list[tuple[Path, str]]:
    """The paths of a well-formed `extends`, and where each stands; the reader reports one that is not."""
    bases = values.get("extends", [])
    if _is_path(bases):
        return [(("extends",), bases)]
    if not isinstance(bases, list):
        return []
    return [(("extends", index), base) for index, base in enumerate(bases) if _is_path(base)]


def _is_path(base: Any) -> bool:
    return isinstance(base, str) and "\0" not in base
