"""What the parser makes of the rules of toml.lark: values, and statements as they stand."""

from __future__ import annotations

from typing import Any

from rcc.syntax.tables import ArrayValue, Opening, Pair, TableValue, inline_table


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
        return ArrayValue(parts[0], parts[1] if len(parts) > 2 else [], parts[-1])

    def table(self, parts: list[Any]) -> TableValue:
        """`{`, the pairs if there are any, `}`."""
        return TableValue(parts[0], inline_table(parts[1] if len(parts) > 2 else []), parts[-1])

    def assignment(self, parts: list[Any]) -> Pair:
        """Key, `=`, value."""
        return Pair(parts[0], parts[2])

    def header(self, parts: list[Any]) -> Opening:
        """`[`, key, `]`."""
        return Opening(parts[0], parts[1], parts[2], array=False)

    def array_header(self, parts: list[Any]) -> Opening:
        """`[[`, key, `]]`."""
        return Opening(parts[0], parts[1], parts[2], array=True)

    def document(self, parts: list[Any]) -> list[Pair | Opening]:
        """The statements, between byte order mark and gaps."""
        return next((part for part in parts if isinstance(part, list)), [])
