"""Environment variables as files write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from rcc.recipe.model import Raw
from rcc.source import Path, Place
from rcc.syntax.document import Document, Part

Owner = Callable[[Path], Document]
"""Finds the document that a value stands in."""


class Variables:
    """Variables by name, each with its document: a recipe's `[env]`, a cluster's profile, or one over the other."""

    def __init__(self, raws: Mapping[str, Raw] | None = None, owner: Owner | None = None) -> None:
        self._known = {name: (raw, owner) for name, raw in (raws or {}).items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def under(self, other: Variables) -> Variables:
        """These, with others over them."""
        both = Variables()
        both._known = {**self._known, **other._known}
        return both

    def text(self, name: str) -> str | None:
        """A variable's value; None where it is not set, or not known before its templates are filled."""
        raw = self._known[name][0].text if name in self._known else None
        return None if raw is None or "{{" in raw or "<<" in raw else raw

    def known(self) -> Iterator[tuple[str, str]]:
        """Names and values of those without templates."""
        for name in self._known:
            text = self.text(name)
            if text is not None:
                yield name, text

    def place(self, name: str, part: Part = "value") -> Place:
        """Where a variable stands."""
        raw, owner = self._known[name]
        assert owner
        return owner(raw.path).place(raw.path, part)

    def inside(self, name: str, start: int, end: int) -> Place:
        """Where a part of a variable's value stands."""
        raw, owner = self._known[name]
        assert owner
        return owner(raw.path).string_place(raw.path, start, end)
