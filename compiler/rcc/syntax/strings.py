"""TOML strings: what their escapes mean, and which source a part of the value comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_SIMPLE = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}
_CHANGED_BASIC = re.compile(r"\\(?:[ \t]*\r?\n(?:[ \t\n]|\r\n)*|x..|u.{4}|U.{8}|.)|\r\n")
_CHANGED_LITERAL = re.compile(r"\r\n")


def decode(raw: str) -> str:
    """The value of a string as it stands in a file, quotes included."""
    start, end = _body(raw)
    if "\\" not in raw and "\r" not in raw:
        return raw[start:end]
    return "".join(text for _, _, text in _pieces(raw))


@lru_cache(64)  # what is wrong in a long string is wrong on every rank
def locate(raw: str, start: int, end: int) -> tuple[int, int]:
    """Where the characters `start` to `end` of the value stand in `raw`, as offsets into it."""
    first = _edges(raw, start)[0]
    return first, first if end <= start else _edges(raw, end - 1)[1]


def _edges(raw: str, index: int) -> tuple[int, int]:
    seen = 0
    for start, end, text in _pieces(raw):
        if index < seen + len(text):
            if end - start != len(text):
                return start, end
            return start + index - seen, start + index - seen + 1
        seen += len(text)
    end = _body(raw)[1]
    return end, end


def _body(raw: str) -> tuple[int, int]:
    """Where the text between the quotes begins and ends; a line end right after three quotes is no part of it."""
    quotes = raw[:3]
    if quotes not in ('"""', "'''") or len(raw) < 6:
        return 1, len(raw) - 1
    line_end = re.compile(r"\r?\n").match(raw, 3)
    return line_end.end() if line_end else 3, len(raw) - 3


def _pieces(raw: str) -> Iterator[tuple[int, int, str]]:
    """The text between the quotes in pieces, each with its source: as it stands, or one changed character."""
    position, stop = _body(raw)
    changed = _CHANGED_BASIC if raw[0] == '"' else _CHANGED_LITERAL
    for match in changed.finditer(raw, position, stop):
        if match.start() > position:
            yield position, match.start(), raw[position : match.start()]
        yield match.start(), match.end(), _meaning(match[0])
        position = match.end()
    if position < stop:
        yield position, stop, raw[position:stop]


def _meaning(source: str) -> str:
    if source == "\r\n":
        return "\n"
    kind = source[1]
    if kind in "xuU":
        return chr(int(source[2:], 16))
    return _SIMPLE.get(kind, "")
