"""Findings as they may be shown: every output form gets them from here, and nothing in them looks like a secret."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Iterator
from itertools import takewhile

from rcc.diagnostic import Finding, Findings, Fix, Label
from rcc.lint.secrets import SHORTEST, by_form, is_random
from rcc.quick import replace
from rcc.source import Place, Source, Span

_NAMED = re.compile(
    r"(?:token|secret|password|passwd|key)[\"']{0,3}\s*[=:,]\s*"
    r"(?:\"{3}(.*?)\"{3}|'{3}(.*?)'{3}|\"((?:\\.|[^\"\\\n])*)|'([^'\n]*)|([^\s\"'`,\]}#]+))",
    re.IGNORECASE | re.DOTALL,
)
_PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----(?:[A-Za-z0-9+/=\s]|\\n)*")
_TELLING = 8
"""From how many code points on the beginning of a secret is not shown either: messages cut long values."""
_LONGEST = 4096


def masked(findings: Findings) -> Findings:
    """The findings with `*` for every character of a secret, in texts and in the sources that excerpts are cut from."""
    masks = _Masks(findings)
    return tuple(masks.finding(one) for one in findings)


class _Masks:
    """The masked form of each source, and all secrets that stand in one of them."""

    def __init__(self, findings: Findings) -> None:
        told: dict[str, set[Span]] = {}
        for one in findings:
            if one.code == "RCC412" and one.place:
                told.setdefault(one.place.source.name, set()).add(one.place.span)
        sources = {id(place.source): place.source for one in findings for place in _places(one)}
        spans = {
            key: {*_by_form(source.text), *_by_name(source.text), *told.get(source.name, ())}
            for key, source in sources.items()
        }
        secrets = {sources[key].text[span.start : span.end] for key, found in spans.items() for span in found}
        self._secrets = sorted(secrets)
        self._beginnings = {secret[:_TELLING] for secret in secrets}
        self._hidden = {key: self._source(source, spans[key]) for key, source in sources.items()}

    def finding(self, one: Finding) -> Finding:
        """A finding that may be shown."""
        return replace(
            one,
            message=self._text(one.message),
            place=one.place and self._place(one.place),
            label=one.label and self._text(one.label),
            labels=tuple(Label(self._place(label.place), self._text(label.text)) for label in one.labels),
            notes=tuple(map(self._text, one.notes)),
            help=one.help and self._text(one.help),
            fix=one.fix and self._fix(one.fix),
        )

    def _source(self, source: Source, spans: set[Span]) -> Source:
        spans.update(self._again(source.text))
        return Source(source.name, _starred(source.text, spans)) if spans else source

    def _place(self, place: Place) -> Place:
        source = self._hidden[id(place.source)]
        return place if source is place.source else Place(source, place.span)

    def _fix(self, fix: Fix) -> Fix:
        """The fix, which nobody may read where it would write a secret: it is told of, and its edits are not."""
        shown = all(self._text(edit.text) == edit.text for edit in fix.edits)
        return fix if shown else replace(fix, edits=())

    def _text(self, text: str) -> str:
        """The text without what looks like a secret, and without the beginnings of the secrets that are known."""
        spans = [*_by_form(text), *self._again(text)]
        return _starred(text, spans) if spans else text

    def _again(self, text: str) -> Iterator[Span]:
        """Where a known secret begins: of the sorted ones, that which agrees longest stands beside the place."""
        if not self._secrets:
            return
        at = 0
        while at <= len(text) - _TELLING:
            length = 1
            if text[at : at + _TELLING] in self._beginnings:
                here = text[at : at + _LONGEST]
                near = bisect(self._secrets, here)
                length = max(_agreement(here, one) for one in self._secrets[max(near - 1, 0) : near + 1])
                yield Span(at, at + length)
            at += length


def _places(one: Finding) -> Iterator[Place]:
    if one.place:
        yield one.place
    yield from (label.place for label in one.labels)


def _by_form(text: str) -> Iterator[Span]:
    """Tokens, and private keys with what follows their first line."""
    yield from (span for span, _ in by_form(text))
    if "PRIVATE KEY" in text:
        yield from (Span(*match.span()) for match in _PRIVATE_KEY.finditer(text))


def _by_name(text: str) -> Iterator[Span]:
    """Random values behind names that say they are secret; the text need not be TOML, which often is the finding."""
    for match in _NAMED.finditer(text):
        group = match.lastindex
        if group and len(match[group]) >= SHORTEST and is_random(match[group]):
            yield Span(*match.span(group))


def _agreement(one: str, other: str) -> int:
    """How many code points two texts have in common at their beginning."""
    if one.startswith(other):
        return len(other)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _starred(text: str, spans: Iterable[Span]) -> str:
    """The text with stars in these places, its lines as long as before."""
    pieces, position = [], 0
    for span in sorted(spans, key=lambda one: (one.start, one.end)):
        pieces += [text[position : span.start], re.sub(r"[^\r\n]", "*", text[max(span.start, position) : span.end])]
        position = max(span.end, position)
    return "".join([*pieces, text[position:]])
