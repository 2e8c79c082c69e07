"""Fixes for table order: what a wrong header took goes where its author meant it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property

from rcc.diagnostic import Edit, Finding, Findings, Fix
from rcc.quick import replace
from rcc.source import Span
from rcc.syntax.document import Document
from rcc.syntax.edit import move_dotted, move_section, move_to_top, move_under, rename_header, statement_at
from rcc.syntax.nodes import Assignment, Header

Maker = Callable[[Document, Finding], Fix | None]


def order_makers(document: Document, findings: Findings) -> Mapping[str, Maker]:
    """What makes the fixes of a file, by code, once all of its findings are known."""
    captured = _Captured(document, [one for one in findings if one.code == "RCC101"])
    return {
        "RCC101": captured.fix,
        "RCC102": _to_owner,
        "RCC103": _double_brackets,
        "RCC105": _below_array,
        "RCC106": _to_siblings,
        "RCC107": _under_header,
    }


class _Captured:
    """Top-level keys that tables have: those below one header move up together."""

    def __init__(self, document: Document, findings: list[Finding]) -> None:
        self._document = document
        self._findings = findings

    @cached_property
    def _names(self) -> Mapping[int, set[str]]:
        """The keys below each header, by where it stands, that the top level has not got."""
        tree = self._document.tree
        names: dict[int, set[str]] = {}
        for one in self._findings:
            found = statement_at(tree, one.place.span.start) if one.place else None
            if isinstance(found, Assignment) and found.header and not tree.span((found.key[0],)):
                names.setdefault(found.header.line.start, set()).add(found.key[0])
        return names

    def fix(self, document: Document, finding: Finding) -> Fix | None:
        """The key out of the table, and, where a header captured it, all others of that header."""
        assert finding.place
        key = finding.place.span
        found = statement_at(document.tree, key.start)
        if isinstance(found, Header):
            return _own_header(document, found, document.source.text[key.start : key.end])
        if not isinstance(found, Assignment) or key.start >= found.value.start:
            return None
        if key.start > found.span.start:
            known = found.header is not None or document.tree.span((found.key[-1],))
            return None if known else Fix((Edit(Span(found.span.start, key.start), ""),))
        names = self._names.get(found.header.line.start) if found.header else None
        return move_to_top(document.tree, *_under(document, found.header, names)) if names else None


def _under(document: Document, header: Header | None, names: set[str]) -> list[Assignment]:
    """All that stands under a header of some of its keys, dotted ones included."""
    own = (one for one in document.tree.statements if isinstance(one, Assignment) and one.header is header)
    return [one for one in own if one.key[0] in names]


def _own_header(document: Document, header: Header, name: str) -> Fix | None:
    """The header, and those of its sub-tables and siblings, without the tables before the name."""
    if name not in header.path or document.tree.span((name,)):
        return None
    path = header.path[: header.path.index(name) + 1]
    start = header.key.index(name)
    headers = [one for one in document.tree.statements if isinstance(one, Header)]
    meant = [one for one in headers if one.path[: len(path)] == path and len(one.key) > start]
    return Fix(tuple(rename_header(one, one.key[start:], array=one.array) for one in meant))


def _to_owner(document: Document, finding: Finding) -> Fix | None:
    """Under the table that has such a key: safe where there is one, else under the nearest one above."""
    assert finding.place
    found = statement_at(document.tree, finding.place.span.start)
    owner = re.search(r"`(\w+)`", finding.help or "")
    if not isinstance(found, Assignment) or finding.place.span.start != found.span.start or owner is None:
        return None
    headers = [one for one in document.tree.statements if isinstance(one, Header) and len(one.key) == 1]
    owners = [one for one in headers if one.key[0] == owner[1]]
    above = [one for one in owners if one.line.start < found.line.start]
    if not owners:
        return None
    moved = _under(document, found.header, {found.key[0]})
    fix = move_under(document.tree, moved, (above or owners)[-1 if above else 0])
    return replace(fix, safe=len(owners) == 1) if fix else None


def _double_brackets(document: Document, finding: Finding) -> Fix | None:
    """Of the header, or of the earlier one where this one has them already."""
    places = [one for one in (finding.place, *(label.place for label in finding.labels)) if one]
    headers = [statement_at(document.tree, one.span.start) for one in places]
    single = next((one for one in headers if isinstance(one, Header) and not one.array), None)
    return Fix((rename_header(single, single.key, array=True),)) if single else None


def _below_array(document: Document, finding: Finding) -> Fix | None:
    """The sub-tables before an array of tables, behind its first element: safe where that is the only one."""
    array = _header(document, finding)
    headers = [one for one in document.tree.statements if isinstance(one, Header)]
    if array is None or not array.array:
        return None
    first = next(one for one in headers if one.key == array.key and one.array)
    own = [one for one in headers[: headers.index(first)] if one.key[: len(array.key)] == array.key]
    between = headers[headers.index(own[0]) : headers.index(own[-1]) + 1] if own else []
    if not own or len(own) != len(between):
        return None
    alone = sum(one.key == array.key and one.array for one in headers) == 1
    return replace(move_section(document.tree, own[0], own[-1], first), safe=alone)


def _under_header(document: Document, finding: Finding) -> Fix | None:
    """The dotted keys under the header that has the table's name, first and without that name."""
    header = _header(document, finding)
    if header is None:
        return None
    size = len(header.key)
    own = [one for one in document.tree.statements if isinstance(one, Assignment)]
    dotted = [one for one in own if one.header is None and len(one.key) > size and one.key[:size] == header.key]
    taken = {one.key[0] for one in own if one.header is header}
    if header.array or not dotted or not taken.isdisjoint(one.key[size] for one in dotted):
        return None
    return move_dotted(document.tree, dotted, header)


def _to_siblings(document: Document, finding: Finding) -> Fix | None:
    """The section, and those of its siblings right behind it, behind the sibling before it."""
    header = _header(document, finding)
    if header is None:
        return None
    headers = [one for one in document.tree.statements if isinstance(one, Header)]
    index = last = headers.index(header)
    while last + 1 < len(headers) and headers[last + 1].key[0] == header.key[0]:
        last += 1
    siblings = [one for one in headers[:index] if one.key[0] == header.key[0]]
    return move_section(document.tree, header, headers[last], siblings[-1]) if siblings else None


def _header(document: Document, finding: Finding) -> Header | None:
    assert finding.place
    found = statement_at(document.tree, finding.place.span.start)
    return found if isinstance(found, Header) else None
