"""From what was found to what is told: each problem once, silenced ones not at all."""

from __future__ import annotations

from collections.abc import Iterable

from rcc.codes import CODES
from rcc.diagnostic import Finding, Findings, Severity, in_order
from rcc.syntax.document import Document

# A finding of the first kind is no news where one of the others stands in the same line.
_SAID_BETTER = {"RCC407": ("RCC401",), "RCC611": ("RCC304",), "RCC108": ("RCC101", "RCC102")}
# Codes that a run without a cluster, or without a lock, cannot find.
_OF_CLUSTER = ("RCC402", "RCC403", "RCC404", "RCC516", "RCC604", "RCC608", "RCC9")
_OF_LOCK = ("RCC610", "RCC801", "RCC802")


def once(findings: Iterable[Finding]) -> Findings:
    """Each problem once, in order of output: of two findings of one code at one place the graver one is kept."""
    kept: dict[object, Finding] = {}
    for one in sorted(findings, key=lambda one: -one.severity):
        kept.setdefault(_identity(one), one)
    lines = {(one.code, _line(one)) for one in kept.values()}
    return in_order(
        one
        for one in kept.values()
        if not any((better, _line(one)) in lines for better in _SAID_BETTER.get(one.code, ()))
    )


def elsewhere(findings: Iterable[Finding], refusals: Iterable[Finding]) -> Findings:
    """The findings in lines of which nothing was refused: what was taken out there is said already."""
    lines = {_line(one) for one in refusals if one.severity is Severity.ERROR}
    return tuple(one for one in findings if _line(one) not in lines)


def _identity(one: Finding) -> object:
    place = one.place and (one.place.source.name, one.place.span)
    return (one.code, place, None if place else one.message)


def _line(one: Finding) -> object:
    return one.place and (one.place.source.name, one.place.line_column[0])


def finished(
    findings: Iterable[Finding], documents: Iterable[Document], own: Document | None, *, cluster: bool, lock: bool
) -> Findings:
    """The findings of one file, `own`, with fixes; `documents` are all that were read for it."""
    found = once(findings)
    sources = {one.source.name: one.source for one in documents}
    if any("rcc:" in source.text for source in sources.values()):
        from rcc.lint.suppress import silenced

        unchecked = (() if cluster else _OF_CLUSTER) + (() if lock else _OF_LOCK)
        checked = frozenset(code for code in CODES if not code.startswith(unchecked))
        found = in_order(silenced(found, sources, own.source.name if own else "", checked))
    if found and own is not None:
        from rcc.lint.fixes import with_fixes

        found = with_fixes(found, own)
    return found
