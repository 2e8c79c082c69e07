"""Edits of TOML texts that lose no comment and change no line but their own."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rcc.diagnostic import Edit, Fix
from rcc.source import Span
from rcc.syntax.nodes import Assignment, Blank, Comment, Header, Statement

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
        if all(_has_room(edit.span, taken) for edit in fix.edits):
            for edit in fix.edits:
                insort(taken, edit, key=lambda one: (one.span.start, one.span.end))
        else:
            skipped.append(fix)
    pieces: list[str] = []
    position = 0
    for edit in taken:
        pieces += (text[position : edit.span.start], edit.text)
        position = edit.span.end
    return "".join((*pieces, text[position:])), tuple(skipped)


def _has_room(span: Span, taken: Sequence[Edit]) -> bool:
    """Whether a span shares no character with those of edits in their order, and none is a place inside the other."""
    before = bisect_left(taken, span.end, key=lambda one: one.span.start) - 1
    return before < 0 or taken[before].span.end <= span.start


def statement_at(tree: Tree, offset: int) -> Statement | None:
    """The statement in whose lines an offset is."""
    at = bisect_right(tree.statements, offset, key=lambda one: one.line.start) - 1
    return tree.statements[at] if at >= 0 and offset < tree.statements[at].line.end else None


def move_to_top(tree: Tree, *assignments: Assignment) -> Fix | None:
    """Moves assignments and the comments right above each to the end of the top level, above the first header.

    None where there is no header, or the top level has one of the keys already.
    """
    first = next((one for one in tree.statements if isinstance(one, Header)), None)
    if first is None or any(tree.span((one.key[0],)) for one in assignments):
        return None
    newline = line_end(tree.text)
    before = [one for one in tree.statements if one.line.end <= first.block.start and not isinstance(one, Blank)]
    at = before[-1].line.end if before else _after_mark(tree, first.line.start)
    apart = bool(before) and isinstance(before[-1], Comment)
    moved = ""
    for number, one in enumerate(assignments):
        if (apart and not number) or ((before or number) and one.block != one.line):
            moved += newline
        moved += _whole_lines(tree, one.block, newline)
    if not before:
        # The comment that begins the file stays first.
        moved = ("" if first.block == first.line else newline) + moved + newline
    return Fix((Edit(Span(at, at), moved), *_removals(tree, [one.block for one in assignments])))


def move_under(tree: Tree, assignments: Sequence[Assignment], header: Header) -> Fix | None:
    """Moves assignments and the comments right above each to the end of what stands under a header.

    None where the header's table has one of the keys already.
    """
    if any(tree.span((*header.path, one.key[0])) for one in assignments):
        return None
    at = _end_under(tree, header)
    newline = line_end(tree.text)
    moved = "".join(_whole_lines(tree, one.block, newline) for one in assignments)
    if not tree.text[:at].endswith("\n"):
        moved = newline + moved
    return Fix((Edit(Span(at, at), moved), *_removals(tree, [one.block for one in assignments])))


def move_dotted(tree: Tree, assignments: Sequence[Assignment], header: Header) -> Fix:
    """Moves assignments whose keys begin with a header's, and the comments right above each, right below that header.

    There their keys are the rest.
    """
    newline = line_end(tree.text)
    moved = "" if tree.text[: header.line.end].endswith("\n") else newline
    for one in assignments:
        lines = _whole_lines(tree, one.block, newline)
        behind = tree.text[one.span.start : one.value.start].rpartition("=")[0]
        blank = behind[len(behind.rstrip()) :]
        rest = ".".join(write_key(name) for name in one.key[len(header.key) :]) + blank
        start = len(lines) - len(_whole_lines(tree, Span(one.span.start, one.block.end), newline))
        moved += lines[:start] + rest + lines[start + len(behind) :]
    at = header.line.end
    return Fix((Edit(Span(at, at), moved), *_removals(tree, [one.block for one in assignments])))


def _end_under(tree: Tree, header: Header) -> int:
    own = [one for one in tree.statements if isinstance(one, Assignment) and one.header is header]
    return own[-1].line.end if own else header.line.end


def move_section(tree: Tree, first: Header, last: Header, behind: Header) -> Fix:
    """Moves the sections of some headers, one after the other, behind the section of another one.

    Comments go with what they describe: those right above a header, and those right below the last assignment that
    belong to nothing that follows. A blank line keeps them from what they come to stand on.
    """
    newline = line_end(tree.text)
    section = Span(first.block.start, _section_end(tree, last))
    at = _section_end(tree, behind)
    above, below = statement_at(tree, at - 1), statement_at(tree, at)
    lines = _whole_lines(tree, section, newline)
    if isinstance(below, Blank) or below is None or isinstance(above, Comment):
        lines = newline + lines
    if isinstance(statement_at(tree, section.end - 1), Comment) and not isinstance(below, Blank | None):
        lines += newline
    if not tree.text[:at].endswith("\n"):
        lines = newline + lines
    return Fix((Edit(Span(at, at), lines), *_removals(tree, [section])))


def _section_end(tree: Tree, header: Header) -> int:
    index = tree.statements.index(header) + 1
    return tree.statements[section_end(tree.statements, index) - 1].line.end


def section_end(statements: Sequence[Statement], index: int) -> int:
    """The statement behind the last assignment of a section, whose header stands before `index`.

    What follows until the next header keeps its place, comments right below the assignment apart.
    """
    end = index
    while index < len(statements) and not isinstance(statements[index], Header):
        index += 1
        if isinstance(statements[index - 1], Assignment):
            end = index
    return behind_comments(statements, end)


def behind_comments(statements: Sequence[Statement], index: int) -> int:
    """Behind comments that stand right below and belong to nothing that follows."""
    end = index
    while end < len(statements) and isinstance(statements[end], Comment):
        end += 1
    return end if end == len(statements) or isinstance(statements[end], Blank) else index


def remove(tree: Tree, assignment: Assignment) -> Fix:
    """Deletes an assignment and the comments right above it."""
    return Fix(_removals(tree, [assignment.block]))


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


def _removals(tree: Tree, blocks: Sequence[Span]) -> tuple[Edit, ...]:
    """Deletes whole lines, and the empty line above some where one stands below them as well."""
    runs: list[Span] = []
    for block in blocks:
        start = _after_mark(tree, block.start)
        if runs and runs[-1].end == start:
            start = runs.pop().start
        runs.append(Span(start, block.end))
    return tuple(Edit(_with_blank(tree, run), "") for run in runs)


def _with_blank(tree: Tree, run: Span) -> Span:
    above, below = statement_at(tree, run.start - 1), statement_at(tree, run.end)
    alone = isinstance(above, Blank) and isinstance(below, Blank | None)
    return Span(above.line.start, run.end) if above and alone else run


def _after_mark(tree: Tree, start: int) -> int:
    """The place itself, or behind the byte order mark that stands there."""
    return start + 1 if tree.text.startswith("\ufeff", start) else start
