"""The syntax tree of a TOML file: places of keys and values, statements in order, nothing lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from typing import Any, Literal

import lark

from rcc.source import Path, Span
from rcc.syntax.actions import Actions
from rcc.syntax.errors import DuplicateKeyError, TomlError
from rcc.syntax.explain import explain
from rcc.syntax.grammar import load, run
from rcc.syntax.lexer import Token, UnexpectedError, text_of
from rcc.syntax.nodes import Statement
from rcc.syntax.scalars import read_scalar
from rcc.syntax.scan import check_depth, hollowed
from rcc.syntax.statements import Layout
from rcc.syntax.strings import locate
from rcc.syntax.tables import (
    ArrayValue,
    Entry,
    Opening,
    Pair,
    Table,
    TableArray,
    Tables,
    TableValue,
    Value,
    content_of,
    name_of,
    span_of,
)

Part = Literal["key", "value", "header"]


class Tree:
    """A TOML file that the grammar takes, and of which the rules of redefinition may refuse a part."""

    def __init__(self, text: str, found: list[Pair | Opening], hollow: Iterable[int] = ()) -> None:
        """Takes what the parser found, in order; `hollow` is where values begin that are still to be parsed."""
        self.text = text
        self._hollow = set(hollow)
        tables = Tables()
        self._root = tables.root
        self._twice: list[DuplicateKeyError] = []
        self.torn: set[str] = set()
        """The top-level keys of which a part is nowhere, since it cannot be both things that it is."""
        self._found = [(one, self._take(tables, one)) for one in found]

    def _take(self, tables: Tables, found: Pair | Opening) -> Path:
        """The path that a header opens."""
        try:
            if isinstance(found, Opening):
                return tables.open(found)
            tables.assign(found)
        except DuplicateKeyError as error:
            self._twice.append(error)
            if error.torn:
                self.torn.add(name_of((found if isinstance(found, Opening) else tables.header or found).key[0]))
        return tuple(map(name_of, found.key)) if isinstance(found, Opening) else ()

    @cached_property
    def refused(self) -> tuple[DuplicateKeyError, ...]:
        """All that stands twice, in order."""
        inside = (one for found, _ in self._found if isinstance(found, Pair) for one in _refused(found.value))
        return tuple(sorted((*self._twice, *inside), key=lambda one: one.span.start))

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """All of the file, in order: the texts of their lines, one after the other, are `text`."""
        layout = Layout(self.text)
        for one, path in self._found:
            if isinstance(one, Opening):
                layout.open(one, path)
            else:
                layout.assign(one)
        return layout.finish()

    def headers(self) -> Iterator[tuple[str, Span]]:
        """The first name of every header and its place, in order."""
        return ((name_of(one.key[0]), span_of(one)) for one, _ in self._found if isinstance(one, Opening))

    def span(self, path: Path, part: Part = "value") -> Span | None:
        """Where the value at `path` stands, its key, or the header that it stands under.

        The value of a table is its header; the key of an array's element is None; so is the header of what stands
        above the first one, and every part of a path that leads nowhere.
        """
        entry = self._entry(path)
        found = {"key": entry.key, "value": entry.value, "header": entry.header}[part] if entry else None
        return span_of(found) if found else None

    def string_span(self, path: Path, start: int, end: int) -> Span | None:
        """The source of the characters `start` to `end` of the string at `path`; None where no string stands."""
        entry = self._entry(path)
        source = text_of(entry.content) if entry and isinstance(entry.content, re.Match) else ""
        if entry is None or source[:1] not in ('"', "'"):
            return None
        first, last = locate(source, start, end)
        whole = span_of(entry.value)
        return Span(whole.start + first, whole.start + last)

    def values(self) -> dict[str, Any]:
        """The values, as tomli gives them; raises TomlError for a date that no calendar has."""
        return parse_flat(self.text).values() if self._hollow else _table_values(self._root)

    def _entry(self, path: Path) -> Entry | None:
        entry = self._root.entries.get(path[0]) if path and isinstance(path[0], str) else None
        for step in path[1:]:
            entry = _child(self._filled(entry), step) if entry else None
        return entry

    def _filled(self, entry: Entry) -> Entry:
        """The entry with all that its value holds."""
        value = entry.value
        if isinstance(value, ArrayValue | TableValue) and value.left.start() in self._hollow:
            span = span_of(value)
            (pair,) = run(_parser(), "x=".rjust(span.start) + self.text[span.start : span.end])
            entry.content, entry.value = content_of(pair.value), pair.value
            self._hollow.remove(span.start)
        return entry


@cache
def _parser() -> lark.Lark:
    return load("toml", "document", Actions())


def parse(text: str) -> Tree:
    """The tree of a TOML 1.1 text; raises TomlError."""
    check_depth(text)
    tree = parse_flat(text)
    if tree.refused:
        raise tree.refused[0]
    return tree


def parse_flat(text: str) -> Tree:
    """The same for a text of which is known that nothing in it nests too deep; what stands twice is in `refused`."""
    try:
        found = run(_parser(), text)
    except UnexpectedError as error:
        raise explain(text, error.offset, error.expected) from None
    return Tree(text, found)


_LARGE = 16 * 1024


def parse_valid(text: str) -> Tree:
    """The tree of a text that tomli takes; what the values of a large one hold is parsed when it is asked for."""
    if len(text) <= _LARGE or not re.search(r"=[ \t]*[\[{]", text):
        return parse_flat(text)
    without, hollow = hollowed(text)
    return Tree(text, run(_parser(), without), hollow)


def _refused(value: Value) -> Iterator[DuplicateKeyError]:
    """The keys that stand twice in the inline tables of a value."""
    if isinstance(value, ArrayValue):
        for item in value.items:
            yield from _refused(item)
    elif isinstance(value, TableValue):
        yield from _refused_keys(value.table)


def _refused_keys(table: Table) -> Iterator[DuplicateKeyError]:
    yield from table.refused
    for entry in table.entries.values():
        if isinstance(entry.content, Table):
            yield from _refused_keys(entry.content)
        elif isinstance(entry.content, ArrayValue):
            yield from _refused(entry.content)


def _child(entry: Entry, step: str | int) -> Entry | None:
    content = entry.content
    if isinstance(step, str):
        inner = content.entries.get(step) if isinstance(content, Table) else None
    elif isinstance(content, TableArray):
        inner = content.elements[step] if 0 <= step < len(content.elements) else None
    elif isinstance(content, ArrayValue) and 0 <= step < len(content.items):
        item = content.items[step]
        inner = Entry(content_of(item), None, item, None)
    else:
        inner = None
    if inner is not None and inner.header is None and entry.header is not None:
        return Entry(inner.content, inner.key, inner.value, entry.header)
    return inner


def _table_values(table: Table) -> dict[str, Any]:
    return {name: _value(entry.content) for name, entry in table.entries.items()}


def _value(content: Table | TableArray | ArrayValue | Token) -> Any:
    if isinstance(content, Table):
        return _table_values(content)
    if isinstance(content, TableArray):
        return [_value(element.content) for element in content.elements]
    if isinstance(content, ArrayValue):
        return [_value(content_of(item)) for item in content.items]
    return _scalar_value(content)


def _scalar_value(token: Token) -> Any:
    source = text_of(token)
    try:
        return read_scalar(source)
    except ValueError:
        pass
    digits = re.sub("^[+-]?(0[xob])?|_", "", source)
    if digits.isalnum():
        message, help = f"an integer of {len(digits)} digits is longer than rcc reads", "put it in quotes"
    else:
        message, help = f"`{source}` is on no calendar", "look at the day and the month"
    raise TomlError(message, span_of(token), help=help)
