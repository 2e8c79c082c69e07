"""Edits of TOML texts that lose no comment and change no line but their own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rcc.diagnostic import Edit, Fix
from rcc.source import Span
from rcc.syntax.nodes import Assignment, Blank, Header

if TYPE_CHECKING:
    from rcc.syntax.tree import Tree

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def apply_fixes(text: str, fixes: Iterable[Fix]) -> tuple[str, tuple[Fix, ...]]:
    """The text with the fixes made, each whole or not at all, and those left out for want of room.

    Insertions at one place stay in the order that they come in.
    """
    taken: list[Edit] = []
    skipped: list[Fix] = []
    for fix in fixes:
        if any(_overlap(edit.span, other.span) for edit in fix.edits for other in taken):
            skipped.append(fix)
        else:
            taken.extend(fix.edits)
    pieces: list[str] = []
    position = 0
    for edit in sorted(taken, key=lambda one: (one.span.start, one.span.end)):
        pieces += (text[position : edit.span.start], edit.text)
        position = edit.span.end
    return "".join((*pieces, text[position:])), tuple(skipped)


def _overlap(one: Span, other: Span) -> bool:
    """Whether two spans share a character, or one is a place inside the other."""
    return one.start < other.end and other.start < one.end


def move_to_top(tree: Tree, assignment: Assignment) -> Fix | None:
    """Moves an assignment and the comments right above it to the end of the top level, above the first header.

    None where there is no header, or the top level has the key already.
    """
    first = next((one for one in tree.statements if isinstance(one, Header)), None)
    if first is None or tree.span((assignment.key[0],)):
        return None
    newline = line_end(tree.text)
    moved = _whole_lines(tree, assignment.block, newline)
    before = [one for one in tree.statements if one.line.end <= first.block.start and not isinstance(one, Blank)]
    if before:
        at = before[-1].line.end
        if assignment.block != assignment.line:
            moved = newline + moved
    elif first.block == first.line:
        at, moved = first.line.start, moved + newline
    else:  # the comment that begins the file stays first
        at, moved = first.line.start, newline + moved + newline
    return Fix((Edit(Span(at, at), moved), _removal(tree, assignment)))


def move_under(tree: Tree, assignment: Assignment, header: Header) -> Fix | None:
    """Moves an assignment and the comments right above it to the end of what stands under a header.

    None where the header's table has the key already.
    """
    if tree.span((*header.path, assignment.key[0])):
        return None
    own = [one for one in tree.statements if isinstance(one, Assignment) and one.header is header]
    at = own[-1].line.end if own else header.line.end
    newline = line_end(tree.text)
    moved = _whole_lines(tree, assignment.block, newline)
    if not tree.text[:at].endswith("\n"):
        moved = newline + moved
    return Fix((Edit(Span(at, at), moved), _removal(tree, assignment)))


def remove(tree: Tree, assignment: Assignment) -> Fix:
    """Deletes an assignment and the comments right above it."""
    return Fix((_removal(tree, assignment),))


def rename_header(header: Header, names: Sequence[str], *, array: bool) -> Edit:
    """Gives a header another name, and single or double brackets."""
    key = ".".join(write_key(name) for name in names)
    return Edit(header.span, f"[[{key}]]" if array else f"[{key}]")


def write_key(name: str) -> str:
    """A key as TOML spells it, with quotes where it needs them."""
    return name if _BARE.fullmatch(name) else write_string(name)


def write_string(value: str) -> str:
    """A string between double quotes."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def line_end(text: str) -> str:
    """The line end that a text uses: that of its first line."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _whole_lines(tree: Tree, span: Span, newline: str) -> str:
    lines = tree.text[span.start : span.end].removeprefix("\ufeff")
    return lines if lines.endswith("\n") else lines + newline


def _removal(tree: Tree, assignment: Assignment) -> Edit:
    """Deletes the block, and the empty line above it where one stands below it as well."""
    start, end = assignment.block.start, assignment.block.end
    if tree.text.startswith("\ufeff", start):
        start += 1
    above = next((one for one in tree.statements if one.line.end == start), None)
    below = next((one for one in tree.statements if one.line.start == end), None)
    if isinstance(above, Blank) and (below is None or isinstance(below, Blank)):
        start = above.line.start
    return Edit(Span(start, end), "")
