"""Where the values of a JSON text stand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from rcc.source import Path, Place, Source, Span
from rcc.syntax.document import Part

_TOKEN = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*")|(?P<mark>[{}\[\],:])|[^\s{}\[\],:"]+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Member:
    """A value, the key that it has in an object, and its path."""

    path: Path
    key: Span | None
    value: Span


@dataclass(slots=True)
class _Open:
    """An array or an object that the scan is inside of, and the place of the member that comes next."""

    path: Path
    key: Span | None
    start: int
    step: str | int | None
    step_span: Span | None = None


def members(text: str) -> Iterator[Member]:
    """Every value of a valid JSON text, inner ones first, those under a repeated key as often as they stand there."""
    around: list[_Open] = []
    for token in _TOKEN.finditer(text):
        span = Span(*token.span())
        mark = token["mark"]
        if mark in ("{", "["):
            path, key = _next_place(around)
            around.append(_Open(path, key, span.start, 0 if mark == "[" else None))
        elif mark in ("}", "]"):
            done = around.pop()
            yield Member(done.path, done.key, Span(done.start, span.end))
        elif mark == ",":
            around[-1].step = around[-1].step + 1 if isinstance(around[-1].step, int) else None
        elif mark is None and around and around[-1].step is None:
            around[-1].step, around[-1].step_span = json.loads(token[0]), span
        elif mark is None:
            yield Member(*_next_place(around), span)


def _next_place(around: list[_Open]) -> tuple[Path, Span | None]:
    if not around:
        return (), None
    inner = around[-1]
    assert inner.step is not None
    return (*inner.path, inner.step), inner.step_span


@lru_cache(maxsize=1)
def _by_path(source: Source) -> dict[Path, Member]:
    return {member.path: member for member in members(source.text)}


def place_in(source: Source, path: Path, part: Part = "value") -> Place:
    """Where the value at `path` of a valid JSON text stands, or its key, else its nearest parent that is there."""
    found = _by_path(source)
    for end in range(len(path), 0, -1):
        member = found.get(path[:end])
        if member:
            return Place(source, member.key if part == "key" and member.key else member.value)
    return Place(source, Span(0, 0))


def repeated(source: Source) -> list[tuple[Member, Member]]:
    """Keys that stand twice in one object: the first and each further one."""
    first: dict[Path, Member] = {}
    again = []
    for member in members(source.text):
        if member.key and member.path in first:
            again.append((first[member.path], member))
        first.setdefault(member.path, member)
    return again
