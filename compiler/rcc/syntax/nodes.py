"""What a TOML file is made of: the statements that stand in it, one after the other."""

from __future__ import annotations

from rcc.quick import dataclass
from rcc.source import Path, Span


class TomlError(Exception):
    """What makes a text no TOML: words as a finding has them; `first` is another place that it is about."""

    def __init__(
        self,
        message: str,
        span: Span,
        *,
        label: str | None = None,
        help: str | None = None,
        first: Span | None = None,
        first_label: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.label = label
        self.help = help
        self.first = first
        self.first_label = first_label


class DuplicateKeyError(TomlError):
    """A key or table that stands twice, or is both a table and another value."""


class TooDeepError(TomlError):
    """Arrays, tables or a dotted key nest deeper than rcc reads."""


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One part of a dotted key: its name, and where it stands with its quotes."""

    name: str
    span: Span


Key = tuple[KeyPart, ...]


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
