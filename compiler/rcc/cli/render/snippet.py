"""Source lines with what is pointed at underlined, as rustc shows them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rcc.cli.render.harmless import cells, harmless, shown
from rcc.quick import dataclass
from rcc.source import Place

BEFORE, AFTER = 60, 100
"""Of a very long line, how many code points are shown before and from the start of what is pointed at."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What to underline, and what to say beside it."""

    place: Place
    text: str
    primary: bool

    @property
    def line(self) -> int:
        """The line that the place begins in, from 1."""
        return self.place.line_column[0]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a snippet: what stands in the gutter, the text, and the mark that it underlines."""

    gutter: str
    text: str
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class _Window:
    """The part of a line that is shown: its text, and where in the line it starts."""

    text: str
    first: int


def rows(marks: list[Mark]) -> Iterator[Row]:
    """The rows for marks of one file, by line; a gap between lines is a row of `...`."""
    before = 0
    ordered = sorted(marks, key=lambda one: (one.line, not one.primary, one.place.span.start))
    for number, group in groupby(ordered, key=lambda one: one.line):
        if before and number > before + 1:
            yield Row("...", "")
        before = number
        here = list(group)
        window = _window(here[0])
        yield Row(str(number), shown(window.text))
        yield from (Row("", _underline(mark, window), mark) for mark in here)


def by_file(marks: list[Mark]) -> list[list[Mark]]:
    """Marks of one file together, the first mark's file first."""
    groups: dict[str, list[Mark]] = {}
    for mark in marks:
        groups.setdefault(mark.place.source.name, []).append(mark)
    return list(groups.values())


def _window(mark: Mark) -> _Window:
    number, column = mark.place.line_column
    line = mark.place.source.line(number)
    if len(line) <= BEFORE + AFTER:
        return _Window(line, 0)
    first = max(column - 1 - BEFORE, 0)
    return _Window(line[first : column - 1 + AFTER], first)


def _underline(mark: Mark, window: _Window) -> str:
    start = max(mark.place.line_column[1] - 1 - window.first, 0)
    length = max(mark.place.span.end - mark.place.span.start, 1)
    pointed_at = window.text[start : start + length].rstrip()
    signs = ("^" if mark.primary else "-") * max(cells(pointed_at), 1)
    return f"{' ' * cells(window.text[:start])}{signs} {harmless(mark.text)}".rstrip()
