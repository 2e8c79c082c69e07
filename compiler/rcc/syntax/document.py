"""A TOML file as values, and, once something has to be pointed at, as places."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import tomli

from rcc.diagnostic import Finding, Findings, finding
from rcc.source import Path, Place, Source, Span, whole

if TYPE_CHECKING:
    from rcc.syntax.tree import Tree

MAX_BYTES = 128 * 1024
MAX_KEY_PARTS = 64

Part = Literal["key", "value", "header"]


class Document:
    """The values of a TOML file; its syntax tree is built when a place is asked for.

    `values` is what tomli reads (TOML 1.1).
    """

    def __init__(self, source: Source, values: dict[str, Any]) -> None:
        self.source = source
        self.values = values

    @cached_property
    def tree(self) -> Tree:
        """The syntax tree: places, comments and edits."""
        from rcc.syntax.tree import parse

        return parse(self.source.text)

    def place(self, path: Path, part: Part = "value") -> Place:
        """Where the value at `path` stands, or its key; the nearest parent that has a place, else the file's start."""
        for end in range(len(path), 0, -1):
            span = self.tree.span(path[:end], part)
            if span is not None:
                return Place(self.source, span)
        return Place(self.source, Span(0, 0))

    def string_place(self, path: Path, start: int, end: int) -> Place:
        """The place of a part of a string, by offsets in the decoded value; the whole value where that is unknown."""
        span = self.tree.string_span(path, start, end)
        return Place(self.source, span) if span else self.place(path)


def read_document(name: str, data: bytes) -> tuple[Document | None, Findings]:
    """Reads a TOML 1.1 file: UTF-8, at most 128 KiB, keys of at most 64 parts."""
    if len(data) > MAX_BYTES:
        message = f"the file has {len(data)} bytes, more than the {MAX_BYTES} that rcc reads"
        return None, (finding("RCC005", message, whole(name), help="a recipe is a short text; move data out of it"),)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"byte {error.start + 1} is not valid UTF-8"
        return None, (finding("RCC001", message, whole(name), help="save the file as UTF-8"),)
    source = Source(name, text)
    found: list[Finding] = []
    try:
        values = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        place = Place(source, Span(error.pos, error.pos + 1))
        return None, (finding("RCC003", error.msg[:1].lower() + error.msg[1:], place),)
    except RecursionError:
        return None, (finding("RCC006", "arrays or inline tables are nested too deep", whole(name, text)),)
    return Document(source, values), tuple(found)
