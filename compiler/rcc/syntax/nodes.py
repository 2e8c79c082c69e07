"""What a TOML file is made of: the statements that stand in it, one after the other."""

from __future__ import annotations

from rcc.quick import dataclass
from rcc.source import Path, Span

Key = tuple[str, ...]
"""The names that a dotted key is made of."""


@dataclass(frozen=True, slots=True)
class Blank:
    """An empty line. The `line` of every statement ends with its line end, so that together they are the file."""

    line: Span


@dataclass(frozen=True, slots=True)
class Comment:
    """A line that holds only a comment, which begins at its `#`."""

    line: Span
    span: Span


@dataclass(frozen=True, slots=True)
class Header:
    """`[key]` or, where `array` is true, `[[key]]`.

    `path` leads to the table that it opens, indices of array elements included. `block` is `line` with the comment
    lines right above it.
    """

    line: Span
    block: Span
    span: Span
    key: Key
    path: Path
    array: bool


@dataclass(frozen=True, slots=True)
class Assignment:
    """`key = value`, on one line or, where the value goes on, several.

    `path` leads to the value, `header` is the one that it stands under, `span` reaches from key to value, `block` is
    `line` with the comment lines right above it.
    """

    line: Span
    block: Span
    span: Span
    key: Key
    value: Span
    path: Path
    header: Header | None


Statement = Blank | Comment | Header | Assignment
