"""The syntax tree of a TOML file: places of keys and values, statements in order, nothing lost."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import lark
from lark import Token

from rcc.source import Path, Span
from rcc.syntax.actions import Actions
from rcc.syntax.errors import TomlError
from rcc.syntax.explain import explain
from rcc.syntax.grammar import load, run
from rcc.syntax.lexer import UnexpectedError
from rcc.syntax.nodes import Statement
from rcc.syntax.scalars import read_scalar
from rcc.syntax.scan import check_depth
from rcc.syntax.statements import Layout
from rcc.syntax.strings import locate
from rcc.syntax.tables import ArrayValue, Entry, Table, TableArray, content_of, span_of

Part = Literal["key", "value", "header"]


class Tree:
    """A TOML file that the grammar and the rules of redefinition take."""

    def __init__(self, text: str, root: Table, statements: tuple[Statement, ...]) -> None:
        self.text = text
        self.statements = statements
        """All of the file, in order: the texts of their lines, one after the other, are `text`."""
        self._root = root

    def span(self, path: Path, part: Part = "value") -> Span | None:
        """Where the value at `path` stands, its key, or the header that it stands under.

        The value of a table is its header; the key of an array's element is None; so is the header of what stands
        above the first one, and every part of a path that leads nowhere.
        """
        entry = self._entry(path)
        if entry is None:
            return None
        return {"key": entry.key, "value": entry.value, "header": entry.header}[part]

    def string_span(self, path: Path, start: int, end: int) -> Span | None:
        """The source of the characters `start` to `end` of the string at `path`; None where no string stands."""
        entry = self._entry(path)
        if entry is None or not isinstance(entry.content, Token) or entry.content[0] not in "\"'":
            return None
        first, last = locate(str(entry.content), start, end)
        return Span(entry.value.start + first, entry.value.start + last)

    def values(self) -> dict[str, Any]:
        """The values, as tomli gives them; raises TomlError for a date that no calendar has."""
        return _table_values(self._root)

    def _entry(self, path: Path) -> Entry | None:
        entry: Entry | None = Entry(self._root, None, Span(0, 0), None)
        for step in path:
            entry = _child(entry, step) if entry else None
        return entry if path else None


@cache
def _parser() -> lark.Lark:
    return load("toml", "document", Actions())


def parse(text: str) -> Tree:
    """The tree of a TOML 1.1 text; raises TomlError."""
    check_depth(text)
    layout = Layout(text)
    try:
        found = run(_parser(), text)
    except UnexpectedError as error:
        raise explain(text, error.offset, error.expected) from None
    for statement in found:
        layout.add(statement)
    return Tree(text, layout.tables.root, layout.finish())


def _child(entry: Entry, step: str | int) -> Entry | None:
    content = entry.content
    if isinstance(step, str):
        inner = content.entries.get(step) if isinstance(content, Table) else None
    elif isinstance(content, TableArray):
        inner = content.elements[step] if 0 <= step < len(content.elements) else None
    elif isinstance(content, ArrayValue) and 0 <= step < len(content.items):
        item = content.items[step]
        inner = Entry(content_of(item), None, span_of(item), None)
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
    try:
        return read_scalar(str(token))
    except ValueError:
        pass
    if token.isdigit() or token[1:].isdigit():
        message, help = f"an integer of {len(token)} digits is longer than rcc reads", "put it in quotes"
    else:
        message, help = f"`{token}` is on no calendar", "look at the day and the month"
    raise TomlError(message, span_of(token), help=help)
