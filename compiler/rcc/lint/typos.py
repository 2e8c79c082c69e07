"""Names that are nearly known ones, among as many names as a file can hold.

A search through all known names takes milliseconds, so that callers ask for it only for the first unknown names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rcc.nearest import nearest_name

_LIMIT = 2


class Typos:
    """Finds the known name that is one edit away at once, and one that is two away by a search."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = sorted(known)
        self._longest = max(map(len, self._known), default=0) + _LIMIT
        self._shortened: dict[str, str] = {}
        for name in reversed(self._known):
            self._shortened.update(dict.fromkeys(_shortened(name), name))

    def nearest(self, name: str, *, thorough: bool = True) -> str | None:
        """The known name that a misspelt one may stand for."""
        if len(name) > self._longest:
            return None
        for form in _shortened(name):
            if form in self._shortened and nearest_name(name, (self._shortened[form],), 1):
                return self._shortened[form]
        return nearest_name(name, self._known, _LIMIT) if thorough else None


def _shortened(name: str) -> Iterator[str]:
    """The name, and the name without any one character: two names one edit apart have a form in common."""
    yield name
    for index in range(len(name)):
        yield name[:index] + name[index + 1 :]
