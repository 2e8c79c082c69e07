"""Every value of a JSON text, with its place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from rcc.source import Path, Source, Span

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
def by_path(source: Source) -> dict[Path, Member]:
    """The values of a text by their paths, the last one of several."""
    return {member.path: member for member in members(source.text)}
