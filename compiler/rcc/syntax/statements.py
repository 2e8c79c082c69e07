"""The statements of a file, with the lines between them."""

from __future__ import annotations

import re

from rcc.source import Path, Span
from rcc.syntax.lexer import Token
from rcc.syntax.nodes import Assignment, Blank, Comment, Header, Key, Statement
from rcc.syntax.tables import Opening, Pair, name_of, span_of

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class Layout:
    """Accounts for every line of a text, by what the parser found in it, in order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._header: Header | None = None
        self._statements: list[Statement] = []

    def open(self, found: Opening, path: Path) -> None:
        """Takes the next header, and the path of the table that it opens."""
        span = span_of(found)
        line, block = self._lines(span)
        self._header = Header(line, block, span, _key(found.key), path, found.array)
        self._statements.append(self._header)

    def assign(self, found: Pair) -> None:
        """Takes the next assignment."""
        span, key = span_of(found), _key(found.key)
        line, block = self._lines(span)
        path = (*(self._header.path if self._header else ()), *key)
        self._statements.append(Assignment(line, block, span, key, span_of(found.value), path, self._header))

    def finish(self) -> tuple[Statement, ...]:
        """All statements, to the end of the file."""
        self._between(len(self._text))
        return tuple(self._statements)

    def _lines(self, span: Span) -> tuple[Span, Span]:
        """The lines of a statement, and those with the comments right above it."""
        start = max(self._position, self._text.rfind("\n", self._position, span.start) + 1)
        self._between(start)
        end = self._text.find("\n", span.end) + 1 or len(self._text)
        self._position = end
        first = start
        for statement in reversed(self._statements):
            if not isinstance(statement, Comment):
                break
            first = statement.line.start
        line = Span(start, end)
        return line, line if first == start else Span(first, end)

    def _between(self, end: int) -> None:
        """Accounts for the lines before `end`: comments and empty lines."""
        if self._position == end:
            return
        for match in _LINE.finditer(self._text, self._position, end):
            line = Span(match.start(), match.end())
            content = match[0].strip(" \t\r\n\ufeff")
            if content:
                start = line.start + match[0].index("#")
                self._statements.append(Comment(line, Span(start, start + len(content))))
            else:
                self._statements.append(Blank(line))


def _key(tokens: list[Token]) -> Key:
    return tuple([name_of(one) for one in tokens])
