"""Which keys of a TOML file go where, and which may not meet."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from lark import Token

from rcc.source import Span
from rcc.syntax.errors import DuplicateKeyError
from rcc.syntax.nodes import Key, KeyPart
from rcc.syntax.strings import decode


class Made(Enum):
    """How a table came to be, which decides what may still be added to it."""

    IMPLICIT = auto()  # on the way to a header's table: may get a header of its own
    HEADER = auto()
    DOTTED = auto()  # on the way of a dotted key: closed with the header that it stands under
    INLINE = auto()  # closed at once


@dataclass(slots=True)
class Table:
    """Keys and what they hold; `section` counts the headers before a dotted table's first key."""

    made: Made
    section: int = 0
    entries: dict[str, Entry] = field(default_factory=dict)


@dataclass(slots=True)
class TableArray:
    """The tables that `[[…]]` headers opened."""

    elements: list[Entry] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """`[…]`."""

    start_pos: int
    end_pos: int
    items: list[Value]


@dataclass(frozen=True, slots=True)
class TableValue:
    """`{…}`."""

    start_pos: int
    end_pos: int
    table: Table


Value = Token | ArrayValue | TableValue
"""A scalar is its token; each kind has a `start_pos` and an `end_pos`."""


@dataclass(slots=True)
class Entry:
    """What stands at a path, and the places of its key, its value and the header that it stands under.

    What stands inside a value leaves the header to the value's own entry.
    """

    content: Table | TableArray | ArrayValue | Token
    key: Span | None
    value: Span
    header: Span | None


def read_key(tokens: list[Token]) -> Key:
    """The parts of a dotted key."""
    return tuple(KeyPart(decode(one) if one[0] in "\"'" else str(one), span_of(one)) for one in tokens)


def span_of(value: Value) -> Span:
    """Where a value or a key part stands."""
    return Span(value.start_pos or 0, value.end_pos or 0)


class Tables:
    """The tables of a file while its statements come in; refuses what TOML calls a redefinition."""

    def __init__(self) -> None:
        self.root = Table(Made.HEADER)
        self._current = self.root
        self._header: Span | None = None
        self._section = 0

    def open(self, key: Key, span: Span, *, array: bool) -> tuple[str | int, ...]:
        """Takes a header; the path of the table that it opens."""
        self._section += 1
        self._header = span
        table, path = self.root, []
        for part in key[:-1]:
            table, steps = self._step(table, part)
            path += steps
        last = key[-1]
        path.append(last.name)
        if array:
            path.append(self._append(table, last))
        else:
            self._open(table, last)
        return tuple(path)

    def assign(self, key: Key, value: Value, span: Span) -> None:
        """Takes an assignment under the header that was opened last."""
        table = self._current
        for part in key[:-1]:
            table = _enter_dotted(table, part, span, self._header, self._section)
        _put(table, key[-1], value, self._header)

    def _step(self, table: Table, part: KeyPart) -> tuple[Table, list[str | int]]:
        """One part of a header's key that is not the last."""
        assert self._header is not None
        entry = table.entries.get(part.name)
        if entry is None:
            entry = Entry(Table(Made.IMPLICIT), part.span, self._header, self._header)
            table.entries[part.name] = entry
        steps: list[str | int] = [part.name]
        if isinstance(entry.content, TableArray):
            steps.append(len(entry.content.elements) - 1)
            entry = entry.content.elements[-1]
        if not isinstance(entry.content, Table) or entry.content.made is Made.INLINE:
            raise _closed(part, entry)
        return entry.content, steps

    def _open(self, table: Table, part: KeyPart) -> None:
        assert self._header is not None
        entry = table.entries.get(part.name)
        if entry is None:
            self._current = Table(Made.HEADER)
            table.entries[part.name] = Entry(self._current, part.span, self._header, self._header)
            return
        if not isinstance(entry.content, Table) or entry.content.made is Made.INLINE:
            raise _closed(part, entry)
        if entry.content.made is Made.DOTTED:
            raise _closed(part, entry)
        if entry.content.made is Made.HEADER:
            raise _twice(f"table `{part.name}`", part, entry)
        self._current = entry.content
        self._current.made = Made.HEADER
        entry.key, entry.value, entry.header = part.span, self._header, self._header

    def _append(self, table: Table, part: KeyPart) -> int:
        assert self._header is not None
        entry = table.entries.get(part.name)
        if entry is None:
            entry = Entry(TableArray(), part.span, self._header, self._header)
            table.entries[part.name] = entry
        if not isinstance(entry.content, TableArray):
            raise _closed(part, entry)
        self._current = Table(Made.HEADER)
        entry.content.elements.append(Entry(self._current, part.span, self._header, self._header))
        return len(entry.content.elements) - 1


def _enter_dotted(table: Table, part: KeyPart, span: Span, header: Span | None, section: int) -> Table:
    """One part of an assignment's key that is not the last."""
    entry = table.entries.get(part.name)
    if entry is None:
        entry = Entry(Table(Made.DOTTED, section), part.span, span, header)
        table.entries[part.name] = entry
    inner = entry.content
    if not isinstance(inner, Table) or inner.made in (Made.INLINE, Made.HEADER):
        raise _closed(part, entry)
    if inner.made is Made.DOTTED and inner.section != section:
        raise _closed(part, entry)
    inner.made, inner.section = Made.DOTTED, section
    return inner


def _put(table: Table, part: KeyPart, value: Value, header: Span | None) -> None:
    entry = table.entries.get(part.name)
    if entry is not None:
        raise _twice(f"`{part.name}`", part, entry)
    table.entries[part.name] = Entry(content_of(value), part.span, span_of(value), header)


def content_of(value: Value) -> Table | ArrayValue | Token:
    """What an entry holds of a value."""
    return value.table if isinstance(value, TableValue) else value


def inline_table(pairs: list[tuple[Key, Value]]) -> Table:
    """An inline table with its own keys, each checked; closed once its last pair is read."""
    table = Table(Made.INLINE)
    for key, value in pairs:
        inner = table
        for part in key[:-1]:
            inner = _enter_dotted(inner, part, Span(key[0].span.start, value.end_pos or 0), None, 0)
        _put(inner, key[-1], value, None)
    return table


def _twice(what: str, part: KeyPart, entry: Entry) -> DuplicateKeyError:
    return DuplicateKeyError(
        f"{what} is defined twice",
        part.span,
        label="defined again here",
        help="keep one of the two",
        first=entry.key or entry.value,
        first_label="first defined here",
    )


def _closed(part: KeyPart, entry: Entry) -> DuplicateKeyError:
    """The error for a table that nothing more can be added to, or that is none."""
    content = entry.content
    help = "write what belongs to it there"
    if isinstance(content, TableArray):
        what, help = "an array of tables", f"add a table to it with `[[{part.name}]]`"
    elif isinstance(content, ArrayValue):
        what, help = "an array", "write its elements there, or make each a `[[…]]` table"
    elif not isinstance(content, Table):
        what, help = "a value", "rename one of the two"
    elif content.made is Made.INLINE:
        what = "an inline table"
    elif content.made is Made.DOTTED:
        what = "a table that dotted keys made"
    else:
        what = "a table with a header of its own"
    return DuplicateKeyError(
        f"`{part.name}` is already {what}",
        part.span,
        label="cannot be added to here",
        help=help,
        first=entry.key or entry.value,
        first_label=f"{what} since here",
    )
