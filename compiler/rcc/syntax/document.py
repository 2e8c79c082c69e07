"""A TOML file as values, and, once something has to be pointed at, as places."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import tomli

from rcc.diagnostic import Edit, Finding, Findings, Fix, Label, finding, first_ones, has_errors
from rcc.source import Path, Place, Source, Span, whole
from rcc.syntax.errors import DuplicateKeyError, TomlError, TooDeepError
from rcc.syntax.scan import LONGEST_INTEGER, check_depth

if TYPE_CHECKING:
    from rcc.syntax.tree import Tree

MAX_BYTES = 128 * 1024

Part = Literal["key", "value", "header"]


class Document:
    """The values of a TOML file; its syntax tree is built when a place is asked for.

    `values` is what tomli reads (TOML 1.1). Where keys stand twice it is the first value of each, and `torn` names the
    top-level keys that cannot be both things that they are.
    """

    torn: frozenset[str] = frozenset()

    def __init__(self, source: Source, values: dict[str, Any]) -> None:
        self.source = source
        self.values = values

    @cached_property
    def tree(self) -> Tree:
        """The syntax tree: places, comments and edits."""
        from rcc.syntax.tree import parse_valid  # a clean lint must not import lark

        return parse_valid(self.source.text)

    def place(self, path: Path, part: Part = "value") -> Place:
        """Where the value at `path` stands, or its key; the nearest parent that has a place, else the file's start."""
        for end in range(len(path), 0, -1):
            span = self.tree.span(path[:end], part)
            if span is not None:
                return Place(self.source, span)
        return Place(self.source, Span(0, 0))

    def string_place(self, path: Path, start: int, end: int) -> Place:
        """Where the characters `start` to `end` of the string at `path` stand; the place of the value if it is none."""
        span = self.tree.string_span(path, start, end)
        return self.place(path) if span is None else Place(self.source, span)


def read_document(name: str, data: bytes) -> tuple[Document | None, Findings]:
    """Reads a TOML 1.1 file: UTF-8, at most 128 KiB, keys of at most 64 parts, 100 levels of arrays and tables."""
    document, found = read_with_duplicates(name, data)
    return (None if has_errors(found) else document), found


def read_with_duplicates(name: str, data: bytes) -> tuple[Document | None, Findings]:
    """The same for a linter: where nothing is wrong but that keys stand twice, there is a document all the same."""
    if len(data) > MAX_BYTES:
        message = f"the file has {len(data)} bytes, more than the {MAX_BYTES} that rcc reads"
        return None, (finding("RCC005", message, whole(name), help="a recipe is a short text; move data out of it"),)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return None, (_not_utf8(name, data, error),)
    source = Source(name, text)
    marked = _byte_order_mark(source)
    try:
        check_depth(text)
        values = tomli.loads(text.removeprefix("\ufeff"))
    except TomlError as error:
        return None, (*marked, _report(source, error))
    except (ValueError, RecursionError) as error:
        document, found = _explain(source, error)
        return document, (*marked, *found)
    found = _check_integers(source)
    return (None if found else Document(source, values)), (*marked, *found)


def _check_integers(source: Source) -> Findings:
    """Refuses what tomli reads and Python cannot write in decimal: integers of other bases, without end."""
    marked = any(mark in source.text for mark in ("0x", "0o", "0b"))
    if not marked or not re.search(rf"0[xob][0-9A-Fa-f_]{{{LONGEST_INTEGER}}}", source.text):
        return ()
    from rcc.syntax.tree import parse_flat  # what looks like one may stand in a string or a comment: the tree knows

    try:
        parse_flat(source.text).values()
    except TomlError as error:
        return (_report(source, error),)
    return ()


def _not_utf8(name: str, data: bytes, error: UnicodeDecodeError) -> Finding:
    before = data[: error.start].decode("utf-8")
    place = Place(Source(name, data.decode("utf-8", "replace")), Span(len(before), len(before) + 1))
    help = "save the file as UTF-8"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        help += "; it looks like UTF-16"
    return finding("RCC001", f"byte {error.start + 1} is not valid UTF-8", place, help=help)


def _byte_order_mark(source: Source) -> Findings:
    if not source.text.startswith("\ufeff"):
        return ()
    span = Span(0, 1)
    message = "the file starts with a byte order mark"
    fix = Fix((Edit(span, ""),))
    return (finding("RCC002", message, Place(source, span), help="save the file without it", fix=fix),)


def _explain(source: Source, error: Exception) -> tuple[Document | None, Findings]:
    """What tomli refused, in the words of the tree, which knows more of it."""
    from rcc.syntax.tree import parse_flat

    twice: Findings = ()
    try:
        tree = parse_flat(source.text)
        twice = tuple(first_ones(_report(source, one) for one in tree.refused))
        document = Document(source, tree.values())
    except TomlError as better:
        return None, (*twice, _report(source, better))
    if twice:
        document.tree, document.torn = tree, frozenset(tree.torn)
        return document, twice
    if not isinstance(error, tomli.TOMLDecodeError):
        return None, (finding("RCC003", str(error), Place(source, Span(0, 0))),)
    start = source.line_starts()[error.lineno - 1] + error.colno - 1
    message = error.msg[:1].lower() + error.msg[1:]
    return None, (finding("RCC003", message, Place(source, Span(start, start + 1))),)


def _report(source: Source, error: TomlError) -> Finding:
    code = "RCC003"
    if isinstance(error, DuplicateKeyError):
        code = "RCC004"
    elif isinstance(error, TooDeepError):
        code = "RCC006"
    labels = [Label(Place(source, error.first), error.first_label)] if error.first else []
    place = Place(source, error.span)
    return finding(code, error.message, place, label=error.label, labels=labels, help=error.help)
