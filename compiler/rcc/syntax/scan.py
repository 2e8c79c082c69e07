"""A quick look at a TOML text without parsing it: comments, and how deep it nests."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rcc.source import Span
from rcc.syntax.errors import TooDeepError

MAX_KEY_PARTS = 64
MAX_NESTING = 100
"""How many arrays, inline tables and parts of the keys in these may stand inside one another."""
LONGEST_INTEGER = 3500
"""How many digits of another base an integer may have: so many make 4,200 decimal ones, and Python writes 4,300."""

_HEADER_BRACKETS = 2
_UNLIKE_HEADER = frozenset("{=\"'#")

_MARKS = (
    r'"""(?:[^"\\]++|\\.|"(?!""))*(?:"{3,5}|\Z)'
    r"|'''(?:[^']++|'(?!''))*(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]++|\\[^\n])*"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+"
    r"|[\[\]{}.=,\n]"
)


def _marks() -> re.Pattern[str]:
    """Compiled when a text is looked at closely, which most are not."""
    return re.compile(_MARKS, re.DOTALL)


def comments(text: str) -> Iterator[Span]:
    """The comments of a valid text, those inside arrays and inline tables included."""
    for match in _marks().finditer(text):
        if match[0][0] == "#":
            yield Span(match.start(), match.start() + len(match[0].rstrip("\r")))


def long_strings(text: str) -> Iterator[Span]:
    """The strings of a valid text that may go over several lines."""
    for match in _marks().finditer(text):
        if match[0].startswith(('"""', "'''")):
            yield Span(match.start(), match.end())


def open_brackets(text: str, end: int) -> list[int]:
    """The brackets before `end` that are open there, the innermost last."""
    found: list[int] = []
    for match in _marks().finditer(text, 0, end):
        if match[0] in ("[", "{"):
            found.append(match.start())
        elif match[0] in ("]", "}") and found:
            found.pop()
    return found


def hollowed(text: str) -> tuple[str, set[int]]:
    """A valid text with blanks for all that stands inside of arrays and inline tables, and where these begin."""
    pieces: list[str] = []
    begins: set[int] = set()
    start = end = depth = 0
    in_value = False
    for match in _marks().finditer(text):
        mark = match[0]
        if mark in "[{":
            depth += 1
            if depth == 1:
                start = match.end()
        elif mark in "]}":
            depth -= 1
            if depth == 0 and in_value:
                pieces += (text[end:start], " " * (match.start() - start))
                begins.add(start - 1)
                end = match.start()
        elif depth == 0 and mark in "=\n":
            in_value = mark == "="
    return "".join((*pieces, text[end:])), begins


def check_depth(text: str) -> None:
    """Raises TooDeepError where something nests deeper than rcc reads."""
    if not _may_be_deep(text):
        return
    dots = key_dots = depth = 0
    outside: list[int] = []
    for match in _marks().finditer(text):
        mark = match[0]
        if mark == ".":
            dots += 1
            _limit(dots + 1, MAX_KEY_PARTS, "a dotted key has", "parts", match)
        elif mark == "=":
            key_dots, dots = dots, 0
        elif mark in "[{":
            outside.append(depth)
            depth += 1 + (key_dots if depth else 0)
            _limit(depth, MAX_NESTING, "arrays and inline tables have", "levels", match)
            key_dots = dots = 0
        elif mark in "]},\n":
            if mark in "]}" and outside:
                depth = outside.pop()
            key_dots = dots = 0


def _limit(count: int, most: int, what: str, unit: str, match: re.Match[str]) -> None:
    if count > most:
        span = Span(match.start(), match.end())
        raise TooDeepError(f"{what} more than {most} {unit}", span, help="lay the values out flatter")


def _may_be_deep(text: str) -> bool:
    """Whether the text has enough dots and brackets; a key, its `=` and a bracket after it stand in one line."""
    brackets, dots = text.count("[") + text.count("{"), text.count(".")
    if brackets + dots < MAX_KEY_PARTS:
        return False
    lines = text.split("\n")
    long = [line for line in lines if len(line) > 2 * MAX_KEY_PARTS] if dots >= MAX_KEY_PARTS else ()
    if any(line.count(".") >= MAX_KEY_PARTS for line in long):
        return True
    nesting = [line for line in lines if "[" in line or "{" in line]
    if _depth(nesting) <= MAX_NESTING:
        return False
    return _depth([line for line in nesting if not _is_header(line)]) + _HEADER_BRACKETS > MAX_NESTING


def _depth(lines: list[str]) -> int:
    """At least as much as these lines can nest."""
    text = "".join(lines)
    return text.count("[") + text.count("{") + text.count(".")


def _is_header(line: str) -> bool:
    """Whether a line closes the brackets that it opens, two at most, and is plain enough to be sure of that."""
    level = line.count("[") == line.count("]") <= _HEADER_BRACKETS
    return level and line[0] == "[" and not _UNLIKE_HEADER.intersection(line)
