"""What the parser makes of the rules of toml.lark: values, and statements as they stand."""

from __future__ import annotations

from typing import Any

from rcc.quick import dataclass
from rcc.source import Span
from rcc.syntax.nodes import Key
from rcc.syntax.tables import ArrayValue, TableValue, Value, inline_table, read_key


@dataclass(frozen=True, slots=True)
class Pair:
    """`key = value`."""

    span: Span
    key: Key
    value: Value


@dataclass(frozen=True, slots=True)
class Opening:
    """`[key]` or, where `array` is true, `[[key]]`."""

    span: Span
    key: Key
    array: bool


class Actions:
    """One method per rule or alias; each gets all parts of the rule."""

    def first(self, parts: list[Any]) -> list[Any]:
        """The first item of a list."""
        return [parts[0]]

    def next(self, parts: list[Any]) -> list[Any]:
        """A list, a separator and one more item."""
        items: list[Any] = parts[0]
        items.append(parts[2])
        return items

    def same(self, parts: list[Any]) -> list[Any]:
        """A list and what means nothing after it."""
        items: list[Any] = parts[0]
        return items

    def array(self, parts: list[Any]) -> ArrayValue:
        """`[`, the elements if there are any, `]`."""
        return ArrayValue(parts[0].start_pos, parts[-1].end_pos, parts[1] if len(parts) > 2 else [])

    def table(self, parts: list[Any]) -> TableValue:
        """`{`, the pairs if there are any, `}`."""
        pairs: list[Pair] = parts[1] if len(parts) > 2 else []
        table = inline_table([(pair.key, pair.value) for pair in pairs])
        return TableValue(parts[0].start_pos, parts[-1].end_pos, table)

    def assignment(self, parts: list[Any]) -> Pair:
        """Key, `=`, value."""
        key = read_key(parts[0])
        return Pair(Span(key[0].span.start, parts[2].end_pos), key, parts[2])

    def header(self, parts: list[Any]) -> Opening:
        """`[`, key, `]`."""
        return Opening(Span(parts[0].start_pos, parts[2].end_pos), read_key(parts[1]), array=False)

    def array_header(self, parts: list[Any]) -> Opening:
        """`[[`, key, `]]`."""
        return Opening(Span(parts[0].start_pos, parts[2].end_pos), read_key(parts[1]), array=True)

    def document(self, parts: list[Any]) -> list[Pair | Opening]:
        """The statements, between byte order mark and gaps."""
        return next((part for part in parts if isinstance(part, list)), [])
