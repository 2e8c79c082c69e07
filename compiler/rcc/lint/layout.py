"""The canonical order of a file: scalars, arrays, `[[…]]`, other tables, `[env]` last; comments stay with what follows.

Everything moves as whole lines. Blank lines and comment blocks of their own keep their place, and so does the comment
that begins the file. A comment that ends a piece gets a blank line below where it would come to stand on the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tomli

from rcc.quick import dataclass
from rcc.syntax.document import Document
from rcc.syntax.edit import behind_comments, line_end, section_end
from rcc.syntax.nodes import Assignment, Blank, Comment, Header, Statement

_LAST = "env"


@dataclass(frozen=True, slots=True)
class _Piece:
    """Lines that stay together. `rank` orders them; None for those that keep their place.

    `noted` says that a comment ends them, which is not about what follows.
    """

    text: str
    rank: tuple[int, int] | None = None
    noted: bool = False


def laid_out(document: Document) -> str:
    """The file in canonical order; its values are the same."""
    text = document.source.text
    pieces = _pieces(document)
    ordered = iter(sorted((one for one in pieces if one.rank), key=lambda one: one.rank or (0, 0)))
    new = _joined([next(ordered) if one.rank else one for one in pieces], text)
    assert _told(tomli.loads(new)) == _told(document.values), "a layout changes no value"
    return new


def _told(value: Any) -> Any:
    """A value to compare by: in tables order means nothing, and `nan` is the same as `nan`."""
    if isinstance(value, dict):
        return {key: _told(one) for key, one in value.items()}
    return [_told(one) for one in value] if isinstance(value, list) else repr(value)


def _joined(pieces: Sequence[_Piece], text: str) -> str:
    """The pieces one after the other; where the last line of the file had no end, the new last one has none either."""
    newline = line_end(text)
    joined, noted = [], False
    for one in pieces:
        if noted and one.text.strip():
            joined.append(newline)
        joined.append(one.text if one.text.endswith("\n") or not one.text else one.text + newline)
        noted = one.noted
    new = "".join(joined)
    # The line that is the last one now may end in another way than the first one of the file.
    return new if text.endswith("\n") else new.removesuffix("\n").removesuffix("\r")


def _pieces(document: Document) -> list[_Piece]:
    text = document.source.text
    statements = document.tree.statements
    head = _head(statements)
    pieces = [_Piece(_lines(text, one.line.start, one.line.end)) for one in statements[:head]]
    arrays = {one.key[0] for one in statements if isinstance(one, Header) and one.array}
    roots: dict[str, int] = {}
    index = head
    while index < len(statements):
        end, rank = _extent(text, statements, index, arrays, roots)
        start, last = statements[index].line.start, statements[end - 1]
        pieces.append(_Piece(_lines(text, start, last.line.end), rank, rank is not None and isinstance(last, Comment)))
        index = end
    return pieces


def _lines(text: str, start: int, end: int) -> str:
    """Lines of the text; a byte order mark is none of the first one's."""
    return text[start:end].removeprefix("\ufeff")


def _head(statements: Sequence[Statement]) -> int:
    """How many statements are the comment that begins the file."""
    count = 0
    while count < len(statements) and isinstance(statements[count], Comment):
        count += 1
    return count


def _extent(
    text: str, statements: Sequence[Statement], index: int, arrays: set[str], roots: dict[str, int]
) -> tuple[int, tuple[int, int] | None]:
    """Where the piece that begins at `index` ends, and its rank."""
    first = index
    while index < len(statements) and isinstance(statements[index], Comment):
        index += 1
    if index == len(statements) or isinstance(statements[index], Blank):
        return max(index, first + 1), None
    statement = statements[index]
    if isinstance(statement, Assignment):
        return behind_comments(statements, index + 1), (1 if text[statement.value.start] in "[{" else 0, 0)
    assert isinstance(statement, Header)
    name = statement.key[0]
    rank = 2 if name in arrays else 4 if name == _LAST else 3
    return section_end(statements, index + 1), (rank, roots.setdefault(name, len(roots)))
