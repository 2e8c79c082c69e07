"""Fixes for findings: made when a finding is there, each proven by reading the file again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import tomli

from rcc.diagnostic import Edit, Finding, Findings, Fix
from rcc.lint.fix_order import Maker, order_makers
from rcc.quick import replace
from rcc.source import Span
from rcc.syntax.document import Document, read_with_duplicates
from rcc.syntax.edit import apply_fixes, remove, statement_at, write_key, write_string
from rcc.syntax.nodes import Assignment
from rcc.syntax.scan import comments

_SUGGESTED = re.compile(r"did you mean `([^`]*)`\?")
_REPLACED = re.compile(r"(?:without|in) quotes: `([^`]*)`")


_READ_AGAIN = 250_000
"""How many characters are read to prove the fixes of a file: further findings get theirs when these are made."""


def with_fixes(findings: Iterable[Finding], document: Document) -> Findings:
    """The findings of a file, with the fixes that rcc knows for them."""
    findings = tuple(findings)
    makers = {**_MAKERS, **order_makers(document, findings)}
    most = max(_READ_AGAIN // (len(document.source.text) + 1), 1)
    made: dict[int, Fix] = {}
    searches = 0
    for index, one in enumerate(findings):
        if one.fix is not None or one.place is None or one.place.source.name != document.source.name:
            continue
        in_place = one.code not in makers or one.code in _IN_PLACE
        if in_place or searches < most:
            searches += not in_place
            fix = makers.get(one.code, _suggested)(document, one)
            if fix is not None:
                made[index] = fix
    proven = _proven(document, list(dict.fromkeys(made.values())), most)
    return tuple(
        replace(one, fix=made[index]) if made.get(index) in proven else one for index, one in enumerate(findings)
    )


def _proven(document: Document, fixes: list[Fix], most: int) -> set[Fix]:
    """Those after which the file can be read: all that stay in their places at once, or so many one by one."""
    in_place = [one for one in fixes if len(one.edits) == 1] if len(fixes) > 1 else []
    proven = set(in_place) if in_place and _can_be_read(document, in_place) else set[Fix]()
    others = [one for one in fixes if one not in proven]
    return proven.union(one for one in others[:most] if _can_be_read(document, [one]))


def _can_be_read(document: Document, fixes: list[Fix]) -> bool:
    """Whether the file is TOML afterwards, or nearer to it, and no value is lost by a fix that only moves."""
    text, _ = apply_fixes(document.source.text, fixes)
    if document.tree.refused:
        left, _ = read_with_duplicates(document.source.name, text.encode())
        return len(fixes) == 1 and left is not None and len(left.tree.refused) < len(document.tree.refused)
    try:
        after = tomli.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    edits = [edit for one in fixes for edit in one.edits]
    moved = len(fixes) == 1 < len(edits) and all(not one.text or one.span.start == one.span.end for one in edits)
    return not moved or sorted(_leaves(after)) == sorted(_leaves(document.values))


def _leaves(value: Any, name: str = "") -> list[str]:
    """Every value with the key that it has, wherever that stands."""
    if isinstance(value, dict):
        return [leaf for key, one in value.items() for leaf in _leaves(one, str(key))]
    if isinstance(value, list):
        return [leaf for one in value for leaf in _leaves(one, name)]
    return [f"{name}={value!r}"]


def _assignment(document: Document, finding: Finding) -> Assignment | None:
    assert finding.place
    found = statement_at(document.tree, finding.place.span.start)
    return found if isinstance(found, Assignment) else None


def _removed(document: Document, finding: Finding) -> Fix | None:
    found = _assignment(document, finding)
    return replace(remove(document.tree, found), safe=False) if found else None


def _removed_in_vain(document: Document, finding: Finding) -> Fix | None:
    """Without a key that has no effect; a comment that goes with it may be worth more than the key."""
    found = _assignment(document, finding)
    if found is None:
        return None
    commented = any(comments(document.source.text[found.block.start : found.block.end]))
    return replace(remove(document.tree, found), safe=not commented)


def _cast(document: Document, finding: Finding) -> Fix | None:
    """The value with the other type that the help writes: what was refused before is what was meant."""
    assert finding.place
    match = _REPLACED.search(finding.help or "")
    return Fix((Edit(finding.place.span, match[1]),)) if match else None


def _suggested(document: Document, finding: Finding) -> Fix | None:
    """The name that the help asks about in place of what stands there."""
    assert finding.place
    match = _SUGGESTED.search(finding.help or "")
    span = finding.place.span
    here = document.source.text[span.start : span.end]
    if not match or not here or "\n" in here:
        return None
    if finding.code == "RCC302":
        name = re.search(r"`([^`]*)`", finding.message)
        text = here.replace(name[1], match[1], 1) if name else here
    elif finding.code in ("RCC201", "RCC406"):
        text = write_key(match[1])
    else:
        text = write_string(match[1]) if here[0] in "\"'" else match[1]
    return Fix((Edit(span, text),), safe=False)


def _full_flag(document: Document, finding: Finding) -> Fix | None:
    assert finding.place
    match = re.match(r"write `(--[a-z0-9-]+)`", finding.help or "")
    return Fix((Edit(finding.place.span, match[1]),)) if match else None


def _without_blank(document: Document, finding: Finding) -> Fix | None:
    assert finding.place
    span = finding.place.span
    here = document.source.text[span.start : span.end]
    return Fix((Edit(span, here.strip()),)) if here.strip() != here else None


def _read_only(document: Document, finding: Finding) -> Fix | None:
    found = _assignment(document, finding)
    if found is None or found.header is None or document.tree.span((*found.header.path, "read_only")):
        return None
    end = found.line.end
    newline = "\r\n" if "\r\n" in document.source.text else "\n"
    lead = "" if document.source.text[:end].endswith("\n") else newline
    return Fix((Edit(Span(end, end), f"{lead}read_only = true{newline}"),), safe=False)


_IN_PLACE = frozenset(("RCC202", "RCC414", "RCC513"))  # of all others the place is searched for, through the file
_MAKERS: dict[str, Maker] = {
    "RCC202": _cast,
    "RCC404": _removed,
    "RCC408": _removed,
    "RCC413": _removed,
    "RCC414": _without_blank,
    "RCC513": _full_flag,
    "RCC706": _read_only,
    "RCC808": _removed_in_vain,
}
