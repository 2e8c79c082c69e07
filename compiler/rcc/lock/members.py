"""Where the values of a JSON text stand: found along a path, and what lies beside that is passed over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from json import JSONDecodeError, JSONDecoder

from rcc.quick import dataclass
from rcc.source import Path, Source, Span

_BLANK = re.compile(r"[ \t\n\r]*+")
_DECODER = JSONDecoder()
_TOKEN = re.compile(
    r"""(?P<rest>[^"{}\[\]]++|\[[^"{}\[\]]*+\])|(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*")(?P<key>\s*+:)?|(?P<mark>.)""",
    re.DOTALL,
)
"""What is neither a string nor an end of an object, in one piece. A quote that is a mark is never closed."""


@dataclass(frozen=True, slots=True)
class Member:
    """A value of an array or an object, and the key that it has there."""

    key: Span | None
    value: Span


def member_at(source: Source, path: Path) -> Member | None:
    """The value at a path of a valid JSON text, else its nearest parent that is there; None for the whole text."""
    containers = _containers(source)
    start, found = _after_blanks(source.text, 0), None
    for step in path:
        container = containers.setdefault(start, _Container(source.text, start))
        member = container.find(step)
        if member is None:
            break
        found, start = member, member.value.start
    return found


@lru_cache(maxsize=1)
def _containers(source: Source) -> dict[int, _Container]:
    """Those of a text that were looked into, by their starts."""
    return {}


class _Container:
    """An array or an object, read up to the last member that was asked for."""

    def __init__(self, text: str, start: int) -> None:
        self._rest = _members(text, start)
        self._seen: dict[str | int, Member] = {}

    def find(self, step: str | int) -> Member | None:
        """The member of a key or an index."""
        while step not in self._seen:
            following = next(self._rest, None)
            if following is None:
                return None
            self._seen[following[0]] = following[1]
        return self._seen[step]


def _members(text: str, start: int) -> Iterator[tuple[str | int, Member]]:
    if text[start] not in "{[":
        return
    position, index = _after_blanks(text, start + 1), 0
    while text[position] not in "}]":
        step: str | int = index
        key = None
        if text[start] == "{":
            step, end = _DECODER.raw_decode(text, position)
            key = Span(position, end)
            position = _after_blanks(text, _after_blanks(text, end) + 1)
        end = _DECODER.raw_decode(text, position)[1]
        yield step, Member(key, Span(position, end))
        position = _after_blanks(text, end)
        if text[position] == ",":
            position, index = _after_blanks(text, position + 1), index + 1


def _after_blanks(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def repeated(text: str) -> Iterator[tuple[str, Span, Span]]:
    """Keys that stand again in their object: the first place and each further one, up to where it is no JSON."""
    around: list[dict[str, int] | None] = []
    for token in _TOKEN.finditer(text):
        mark = token["mark"]
        if mark in ("{", "["):
            around.append({} if mark == "{" else None)
        elif mark is not None:
            if not around or mark != ("]" if around[-1] is None else "}"):
                return
            around.pop()
        elif token["key"] and around and around[-1] is not None:
            key, start = token["string"], token.start()
            try:
                key = _DECODER.decode(key) if "\\" in key else key[1:-1]
            except JSONDecodeError:
                return
            first = around[-1].setdefault(key, start)
            if first != start:
                yield key, _string_at(text, first), _string_at(text, start)


def _string_at(text: str, start: int) -> Span:
    return Span(start, _DECODER.raw_decode(text, start)[1])
