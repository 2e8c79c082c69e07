"""Comments that silence findings: `# rcc: ignore[RCC601] reason`, on the line of the finding or the one above it.

A string that goes over several lines has no room for a comment in it: those around it count for all of its lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rcc.codes import CODES
from rcc.diagnostic import Edit, Finding, Findings, Fix, finding, first_ones
from rcc.lint.settings import NEVER
from rcc.source import Place, Source, Span
from rcc.syntax.scan import comments, long_strings

_COMMENT = re.compile(r"#\s*rcc:\s*ignore\[([^\]]*)\]\s*(.*)")
_MEANT = re.compile(
    r"#\s*rcc(?::\s*(?:ignore|disable|allow|noqa)\b|\s+(?:ignore|disable|allow|noqa)\W+RCC\d)|#\s*noqa:\s*RCC\d", re.I
)


class _Suppression:
    """A comment, the codes that it names, and those of them that silenced something."""

    def __init__(self, source: Source, span: Span, match: re.Match[str]) -> None:
        self.source = source
        self.span = span
        self.line = source.line_column(span.start)[0]
        self.codes = [code.strip() for code in match[1].split(",")]
        self.reason = match[2].strip()
        self.used: set[str] = set()

    def place(self, code: str | None = None) -> Place:
        """The comment's place, or that of a code in it."""
        text = self.source.text[self.span.start : self.span.end]
        at = self.span.start + text.index(code, text.index("[")) if code else self.span.start
        return Place(self.source, Span(at, at + len(code)) if code else self.span)


def silenced(findings: Iterable[Finding], sources: Mapping[str, Source], own: str, checked: frozenset[str]) -> Findings:
    """The findings that no comment silences, and what is wrong with the comments of the file `own`.

    `sources` are the texts that comments count in, by name; `checked` are the codes that this run could have found.
    """
    by_line = {(name, one.line): one for name, source in sources.items() for one in _suppressions(source)}
    long = {name: tuple(_lines_of_strings(source)) for name, source in sources.items()}
    left = [one for one in findings if not _is_silenced(one, by_line, long)]
    own_comments = (one for (name, _), one in by_line.items() if name == own)
    left.extend(first_ones(complaint for one in own_comments for complaint in _complaints(one, checked)))
    if own in sources:
        left.extend(first_ones(_misspelt(sources[own])))
    return tuple(left)


def _misspelt(source: Source) -> Iterator[Finding]:
    """Comments that are meant to silence something and are not read."""
    for span in comments(source.text):
        text = source.text[span.start : span.end]
        if _MEANT.match(text) and not _COMMENT.match(text):
            help = "write `# rcc: ignore[RCC601]`, with the code that it is about and a reason behind it"
            yield finding(
                "RCC008", "the comment is written in another way than is read", Place(source, span), help=help
            )


def _suppressions(source: Source) -> list[_Suppression]:
    found = []
    for span in comments(source.text):
        match = _COMMENT.match(source.text[span.start : span.end])
        if match:
            found.append(_Suppression(source, span, match))
    return found


def _lines_of_strings(source: Source) -> Iterator[tuple[int, int]]:
    """First and last line of every string that goes over several."""
    for span in long_strings(source.text):
        first, last = (source.line_column(at)[0] for at in (span.start, span.end))
        if first != last:
            yield first, last


def _is_silenced(
    one: Finding,
    by_line: Mapping[tuple[str, int], _Suppression],
    long: Mapping[str, Sequence[tuple[int, int]]],
) -> bool:
    if one.place is None or one.code in NEVER:
        return False
    name, line = one.place.source.name, one.place.line_column[0]
    strings = long.get(name, ())
    at = bisect_right(strings, line, key=lambda one: one[0]) - 1
    first, last = strings[at] if at >= 0 and strings[at][1] >= line else (line, line)
    silent = False
    for number in {last, first, first - 1}:
        suppression = by_line.get((name, number))
        if suppression is not None and one.code in suppression.codes:
            suppression.used.add(one.code)
            silent = True
    return silent


def _complaints(one: _Suppression, checked: frozenset[str]) -> Iterable[Finding]:
    for code in one.codes:
        if code not in CODES:
            yield finding(
                "RCC010",
                f"rcc has no code `{code}`",
                one.place(code or None),
                help="`rcc lint --explain all` lists the codes",
            )
        elif code in checked and code not in one.used:
            message = f"nothing here is {code}, so the comment silences nothing"
            fix = Fix((_removal(one),)) if len(one.codes) == 1 else None
            yield finding("RCC008", message, one.place(code), help="remove it", fix=fix)
    if not one.reason:
        help = "write it behind the bracket: the next reader wants to know"
        yield finding("RCC009", "the comment gives no reason", one.place(), help=help)


def _removal(one: _Suppression) -> Edit:
    """Deletes the comment, and its line where that holds nothing else."""
    text = one.source.text
    start = text.rfind("\n", 0, one.span.start) + 1
    if text[start : one.span.start].strip(" \t\ufeff"):
        kept = text[: one.span.start].rstrip(" \t")
        return Edit(Span(len(kept), one.span.end), "")
    end = text.find("\n", one.span.end) + 1 or len(text)
    return Edit(Span(start, end), "")
