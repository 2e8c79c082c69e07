"""Which keys of a TOML file go where, and which may not meet."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from rcc.source import Path, Span
from rcc.syntax.errors import DuplicateKeyError
from rcc.syntax.lexer import Token, end_of, text_of
from rcc.syntax.strings import decode


class Made(Enum):
    """How a table came to be, which decides what may still be added to it."""

    IMPLICIT = auto()  # on the way to a header's table: may get a header of its own
    HEADER = auto()
    DOTTED = auto()  # on the way of a dotted key: closed with the header that it stands under
    INLINE = auto()  # closed at once


@dataclass(slots=True)
class Table:
    """Keys and what they hold; `section` counts the headers before a dotted table's first key.

    `refused` are the keys that an inline table has twice.
    """

    made: Made
    section: int = 0
    refused: tuple[DuplicateKeyError, ...] = ()
    entries: dict[str, Entry] = field(default_factory=dict)


@dataclass(slots=True)
class TableArray:
    """The tables that `[[…]]` headers opened."""

    elements: list[Entry] = field(default_factory=list)


class ArrayValue(NamedTuple):
    """`[…]`, between its brackets."""

    left: Token
    items: list[Value]
    right: Token


class TableValue(NamedTuple):
    """`{…}`, between its brackets."""

    left: Token
    table: Table
    right: Token


Value = Token | ArrayValue | TableValue
"""A scalar is its token."""


class Pair(NamedTuple):
    """`key = value`."""

    key: list[Token]
    value: Value


class Opening(NamedTuple):
    """`[key]` or, where `array` is true, `[[key]]`."""

    left: Token
    key: list[Token]
    right: Token
    array: bool


Part = Value | Pair | Opening


@dataclass(slots=True)
class Entry:
    """What stands at a path, and what its key, its value and the header that it stands under are in the file.

    What stands inside a value leaves the header to the value's own entry.
    """

    content: Table | TableArray | ArrayValue | Token
    key: Token | None
    value: Part
    header: Opening | None


def name_of(token: Token) -> str:
    """What a part of a key means."""
    source = text_of(token)
    return decode(source) if source[0] in "\"'" else source


def span_of(part: Part) -> Span:
    """Where a part of the file stands; made for those that are asked for, since a file has thousands."""
    if isinstance(part, re.Match):
        return Span(part.start(), end_of(part))
    if isinstance(part, Pair):
        return Span(part.key[0].start(), span_of(part.value).end)
    return Span(part.left.start(), end_of(part.right))


class Tables:
    """The tables of a file while its statements come in; refuses what TOML calls a redefinition.

    After a refusal it goes on: of a key that stands twice the first value counts, a table that is opened twice is one.
    """

    def __init__(self) -> None:
        self.root = Table(Made.HEADER)
        self._current = self.root
        self.header: Opening | None = None
        self._section = 0

    def open(self, header: Opening) -> Path:
        """Takes a header; the path of the table that it opens."""
        self._section += 1
        self.header = header
        self._current = Table(Made.HEADER)  # what stands below a header that is refused
        table = self.root
        path: list[str | int] = []
        for part in header.key[:-1]:
            table, steps = self._step(table, part, header)
            path += steps
        last = header.key[-1]
        path.append(name_of(last))
        if header.array:
            path.append(self._append(table, last, header))
        else:
            self._open(table, last, header)
        return tuple(path)

    def assign(self, pair: Pair) -> None:
        """Takes an assignment under the header that was opened last."""
        _assign(self._current, pair, self.header, self._section)

    def _step(self, table: Table, part: Token, header: Opening) -> tuple[Table, list[str | int]]:
        """One part of a header's key that is not the last."""
        name = name_of(part)
        entry = table.entries.get(name)
        if entry is None:
            entry = table.entries[name] = Entry(Table(Made.IMPLICIT), part, header, header)
        steps: list[str | int] = [name]
        if isinstance(entry.content, TableArray):
            steps.append(len(entry.content.elements) - 1)
            entry = entry.content.elements[-1]
        if not isinstance(entry.content, Table) or entry.content.made is Made.INLINE:
            raise _closed(part, entry)
        return entry.content, steps

    def _open(self, table: Table, part: Token, header: Opening) -> None:
        name = name_of(part)
        entry = table.entries.get(name)
        if entry is None:
            self._current = Table(Made.HEADER)
            table.entries[name] = Entry(self._current, part, header, header)
            return
        if not isinstance(entry.content, Table) or entry.content.made is Made.INLINE:
            raise _closed(part, entry)
        self._current = entry.content
        if entry.content.made is Made.DOTTED:
            raise _closed(part, entry, torn=False)
        if entry.content.made is Made.HEADER:
            raise _twice(f"table `{name}`", part, entry)
        self._current.made = Made.HEADER
        entry.key, entry.value, entry.header = part, header, header

    def _append(self, table: Table, part: Token, header: Opening) -> int:
        name = name_of(part)
        entry = table.entries.get(name)
        if entry is None:
            entry = table.entries[name] = Entry(TableArray(), part, header, header)
        if not isinstance(entry.content, TableArray):
            raise _closed(part, entry)
        self._current = Table(Made.HEADER)
        entry.content.elements.append(Entry(self._current, part, header, header))
        return len(entry.content.elements) - 1


def _assign(table: Table, pair: Pair, header: Opening | None, section: int) -> None:
    for part in pair.key[:-1]:
        table = _enter_dotted(table, part, pair, header, section)
    last = pair.key[-1]
    name = name_of(last)
    entry = table.entries.get(name)
    if entry is not None:
        raise _twice(f"`{name}`", last, entry)
    table.entries[name] = Entry(content_of(pair.value), last, pair.value, header)


def _enter_dotted(table: Table, part: Token, pair: Pair, header: Opening | None, section: int) -> Table:
    """One part of an assignment's key that is not the last."""
    name = name_of(part)
    entry = table.entries.get(name)
    if entry is None:
        entry = table.entries[name] = Entry(Table(Made.DOTTED, section), part, pair, header)
    inner = entry.content
    if not isinstance(inner, Table) or inner.made in (Made.INLINE, Made.HEADER):
        raise _closed(part, entry)
    if inner.made is Made.DOTTED and inner.section != section:
        raise _closed(part, entry)
    inner.made, inner.section = Made.DOTTED, section
    return inner


def content_of(value: Value) -> Table | ArrayValue | Token:
    """What an entry holds of a value."""
    return value.table if isinstance(value, TableValue) else value


def inline_table(pairs: list[Pair]) -> Table:
    """An inline table with its own keys, each checked; closed once its last pair is read."""
    table = Table(Made.INLINE)
    for pair in pairs:
        try:
            _assign(table, pair, None, 0)
        except DuplicateKeyError as error:
            table.refused += (error,)
    return table


def _twice(what: str, part: Token, entry: Entry) -> DuplicateKeyError:
    return DuplicateKeyError(
        f"{what} is defined twice",
        span_of(part),
        label="defined again here",
        help="keep one of the two",
        first=span_of(entry.key or entry.value),
        first_label="first defined here",
    )


def _closed(part: Token, entry: Entry, *, torn: bool = True) -> DuplicateKeyError:
    """The error for a table that nothing more can be added to, or that is none."""
    content = entry.content
    help = "write what belongs to it there"
    if isinstance(content, TableArray):
        what, help = "an array of tables", f"add a table to it with `[[{name_of(part)}]]`"
    elif isinstance(content, ArrayValue):
        what, help = "an array", "write its elements there, or make each a `[[…]]` table"
    elif not isinstance(content, Table):
        what, help = "a value", "keep one of the two: a key has a value or is a table"
    elif content.made is Made.INLINE:
        what = "an inline table"
    elif content.made is Made.DOTTED:
        what = "a table that dotted keys made"
    else:
        what = "a table with a header of its own"
    error = DuplicateKeyError(
        f"`{name_of(part)}` is already {what}",
        span_of(part),
        label="cannot be added to here",
        help=help,
        first=span_of(entry.key or entry.value),
        first_label=f"{what} since here",
    )
    error.torn = torn
    return error
