"""From what was found to what is told: each problem once, silenced ones not at all."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable

from rcc.codes import CODES
from rcc.diagnostic import Finding, Findings, Severity, in_order
from rcc.source import Place
from rcc.syntax.document import Document

# A finding of the first kind is no news where one of the others stands in the same line.
_SAID_BETTER = {
    "RCC106": ("RCC004", "RCC103", "RCC105"),
    "RCC108": ("RCC101", "RCC102"),
    "RCC308": ("RCC411", "RCC701"),
    "RCC407": ("RCC401", "RCC411"),
    "RCC411": ("RCC401", "RCC408"),
    "RCC416": ("RCC308", "RCC408"),
    "RCC418": ("RCC308",),
    "RCC611": ("RCC302", "RCC304"),
    "RCC804": ("RCC306",),
    "RCC805": ("RCC306",),
}
# The same for a finding around a place of the other.
_SAID_INSIDE = {"RCC306": "RCC710"}
# Codes that look for what is not there, with the keys that would have it: where these cannot be read, it may be.
# (`staging` is any key of it, `staging.dst` that one.)
_ROLES = ("model", "models", "revision", "staging.id", "staging.src")
_LOOKS_FOR = {
    "RCC204": ("entrypoint", "port"),
    "RCC306": ("hf_cache", "nodes", "vars"),
    "RCC308": ("entrypoint",),
    "RCC511": ("args",),
    "RCC601": ("lock",),
    "RCC602": ("lock",),
    "RCC603": ("model", "revision", "staging.src", "lock"),
    "RCC605": ("staging.dst",),
    "RCC804": ("engine", "extra_mounts.host", "staging.id", "staging.kind", "staging.serve"),
    "RCC805": ("revision", "staging.src"),
    "RCC806": ("model", "models.model", "models.revision", "revision", "staging.src"),
    "RCC808": ("staging.kind",),
    "RCC903": (
        *("args", "data_parallel_size", "hardware", "nodes.gpus", "pipeline_parallel_size", "required_nodes"),
        "tensor_parallel_size",
    ),
    "RCC904": ("nccl", "topology"),
    "RCC907": ("hardware",),
    "RCC908": ("port", "rendezvous_port", "required_nodes"),
    "RCC910": ("nodes.host", "nodes.fabric"),
    "RCC911": (*_ROLES, "hf_cache", "nodes.hf_cache"),
    "RCC915": ("port", "rendezvous_port"),
    "RCC917": ("nodes",),
}
# The same for codes about a name in a template, by the first part of the name.
_OF_NAMES = frozenset(("RCC302", "RCC304", "RCC305", "RCC611"))
_NAMED = {
    "head": ("nodes",),
    "hf": ("hf_cache", "nodes.hf_cache"),
    "model": _ROLES,
    "models": ("models",),
    "node": ("nodes",),
    "port": ("port",),
    "staging": ("staging.id", "staging.kind"),
    "topology": ("topology",),
    "vars": ("nodes.vars", "vars"),
}
# Codes that a run without a cluster, or without a lock, cannot find.
_OF_CLUSTER = ("RCC402", "RCC403", "RCC404", "RCC516", "RCC604", "RCC608", "RCC9")
_OF_LOCK = ("RCC610", "RCC801", "RCC802")


def once(findings: Iterable[Finding]) -> Findings:
    """Each problem once, in order of output: of two findings that say the same of one place the graver one is kept."""
    kept: dict[object, Finding] = {}
    for one in sorted(findings, key=lambda one: -one.severity):
        kept.setdefault(_identity(one), one)
    lines = {(one.code, _line(one)) for one in kept.values()}
    inside = _Taken(one.place for one in kept.values() if one.place and one.code in _SAID_INSIDE.values())
    return in_order(
        one
        for one in kept.values()
        if not any((better, _line(one)) in lines for better in _SAID_BETTER.get(one.code, ()))
        and not (one.code in _SAID_INSIDE and inside.meets(one.place))
    )


def sure(findings: Iterable[Finding], refused: Findings, lost: frozenset[str]) -> Findings:
    """Of what the rules find in the rest of a file, what does not come from the parts that are `refused` or `lost`."""
    errors = (one for one in refused if one.severity is Severity.ERROR and one.code != "RCC412")  # a secret is read
    taken = _Taken(one.place for one in errors if one.place)
    gone = lost | {one.partition(".")[0] for one in lost}
    return tuple(
        one
        for one in findings
        if not any(key in gone or key.partition(".")[0] in lost for key in _looks_for(one))
        and not taken.meets(one.place)
    )


def _looks_for(one: Finding) -> tuple[str, ...]:
    if one.code in _OF_NAMES:
        name = re.search(r"`(\w+)", one.message)
        keys = _NAMED.get(name[1], ()) if name else ()
        return (*keys, "lock") if one.code in ("RCC304", "RCC611") else keys
    return _LOOKS_FOR.get(one.code, ())


class _Taken:
    """Places, and whether another one meets them."""

    def __init__(self, places: Iterable[Place]) -> None:
        self._exact = {(one.source.name, one.span) for one in places}
        self._merged: dict[str, list[list[int]]] = {}
        for name, span in sorted(self._exact, key=lambda one: (one[0], one[1].start, one[1].end)):
            merged = self._merged.setdefault(name, [])
            if merged and span.start < merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], span.end)
            else:
                merged.append([span.start, span.end])

    def meets(self, place: Place | None) -> bool:
        """Whether the place is one of these, or shares a character with one."""
        if place is None:
            return False
        merged, span = self._merged.get(place.source.name, []), place.span
        at = bisect_left(merged, span.end, key=lambda one: one[0]) - 1
        return (place.source.name, span) in self._exact or (at >= 0 and span.start < merged[at][1])


def _identity(one: Finding) -> object:
    return (one.code, one.place and (one.place.source.name, one.place.span), one.message)


def _line(one: Finding) -> object:
    return one.place and (one.place.source.name, one.place.line_column[0])


def finished(
    findings: Iterable[Finding], documents: Iterable[Document], own: Document | None, *, cluster: bool, lock: bool
) -> Findings:
    """The findings of one file, `own`, with fixes; `documents` are all that were read for it."""
    found = once(findings)
    sources = {one.source.name: one.source for one in documents}
    if any("rcc:" in source.text or "RCC" in source.text for source in sources.values()):
        from rcc.lint.suppress import silenced

        unchecked = (() if cluster else _OF_CLUSTER) + (() if lock else _OF_LOCK)
        checked = frozenset(code for code in CODES if not code.startswith(unchecked))
        found = in_order(silenced(found, sources, own.source.name if own else "", checked))
    if found and own is not None:
        from rcc.lint.fixes import with_fixes

        found = with_fixes(found, own)
    return found
