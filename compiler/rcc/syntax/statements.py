"""The statements of a file, with the lines between them."""

from __future__ import annotations

import re

from rcc.source import Path, Span
from rcc.syntax.actions import Opening, Pair
from rcc.syntax.nodes import Assignment, Blank, Comment, Header, Statement
from rcc.syntax.tables import Tables, span_of

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class Layout:
    """Takes what the parser found, in order, and accounts for every line of the text."""

    def __init__(self, text: str) -> None:
        self.tables = Tables()
        self._text = text
        self._position = 0
        self._header: Header | None = None
        self._path: Path = ()
        self._statements: list[Statement] = []

    def add(self, found: Pair | Opening) -> None:
        """Takes the next header or assignment; raises DuplicateKeyError."""
        line, block = self._lines(found.span)
        if isinstance(found, Opening):
            self._path = self.tables.open(found.key, found.span, array=found.array)
            self._header = Header(line, block, found.span, found.key, self._path, found.array)
            self._statements.append(self._header)
        else:
            self.tables.assign(found.key, found.value, found.span)
            path = (*self._path, *(part.name for part in found.key))
            value = span_of(found.value)
            self._statements.append(Assignment(line, block, found.span, found.key, value, path, self._header))

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
        return Span(start, end), Span(first, end)

    def _between(self, end: int) -> None:
        """Accounts for the lines before `end`: comments and empty lines."""
        for match in _LINE.finditer(self._text, self._position, end):
            line = Span(match.start(), match.end())
            content = match[0].strip(" \t\r\n\ufeff")
            if content:
                start = line.start + match[0].index("#")
                self._statements.append(Comment(line, Span(start, start + len(content))))
            else:
                self._statements.append(Blank(line))
