"""Texts, and places in them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field
from itertools import accumulate

from rcc.quick import dataclass

Path = tuple[str | int, ...]
"""Where a value stands in a file: table keys, and 0-based indices of array elements."""


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of code points."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A file's name, as the user gave it, and its text."""

    name: str
    text: str
    _starts: list[int] = field(default_factory=list, repr=False)

    def line_starts(self) -> list[int]:
        """Offsets of the first code point of every line."""
        if not self._starts:
            lines = self.text.split("\n")
            self._starts.extend(accumulate([len(line) + 1 for line in lines[:-1]], initial=0))
        return self._starts

    def line_column(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1, in code points."""
        starts = self.line_starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line (from 1), without its end."""
        starts = self.line_starts()
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")


@dataclass(frozen=True, slots=True)
class Place:
    """A span in a source."""

    source: Source
    span: Span

    @property
    def line_column(self) -> tuple[int, int]:
        """Where the place begins: line and column, from 1."""
        return self.source.line_column(self.span.start)

    def __str__(self) -> str:
        line, column = self.line_column
        return f"{self.source.name}:{line}:{column}"


def whole(name: str, text: str = "") -> Place:
    """The place of a finding about a file as a whole."""
    return Place(Source(name, text), Span(0, 0))
