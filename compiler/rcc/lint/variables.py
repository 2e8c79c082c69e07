"""Environment variables as files write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from rcc.recipe.model import Raw
from rcc.source import Path, Place
from rcc.syntax.document import Document, Part

Owner = Callable[[Path], Document]
"""Finds the document that a value stands in."""


class Variables:
    """Variables by name, each with its document: a recipe's `[env]`, a cluster's profile, or one over the other."""

    def __init__(self, raws: Mapping[str, Raw] | None = None, owner: Owner | None = None) -> None:
        self._raws = dict(raws or {})
        self._owners = dict.fromkeys(self._raws, owner)
        self._texts = {
            name: raw.text for name, raw in self._raws.items() if "{{" not in raw.text and "<<" not in raw.text
        }

    def __iter__(self) -> Iterator[str]:
        return iter(self._raws)

    def __contains__(self, name: object) -> bool:
        return name in self._raws

    def under(self, other: Variables) -> Variables:
        """These, with others over them."""
        both = Variables()
        both._raws = {**self._raws, **other._raws}
        both._owners = {**self._owners, **other._owners}
        kept = {name: text for name, text in self._texts.items() if name not in other._raws}
        both._texts = {**kept, **other._texts}
        return both

    def text(self, name: str) -> str | None:
        """A variable's value; None where it is not set, or not known before its templates are filled."""
        return self._texts.get(name)

    def known(self) -> Iterable[tuple[str, str]]:
        """Names and values of those without templates."""
        return self._texts.items()

    def place(self, name: str, part: Part = "value") -> Place:
        """Where a variable stands."""
        path, owner = self._raws[name].path, self._owners[name]
        assert owner
        return owner(path).place(path, part)

    def inside(self, name: str, start: int, end: int) -> Place:
        """Where a part of a variable's value stands."""
        path, owner = self._raws[name].path, self._owners[name]
        assert owner
        return owner(path).string_place(path, start, end)
