"""Findings as SARIF 2.1.0, for GitHub's code scanning and other readers of it."""

from __future__ import annotations

import json
import posixpath
from collections import Counter
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from rcc import __version__
from rcc.codes import CODES
from rcc.diagnostic import Edit, Finding, Findings, Severity, in_order
from rcc.lint.pages import page
from rcc.source import Place, Source

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MAX_RESULTS = 25_000
MAX_TEXT = 1024
"""GitHub refuses a run with more results, and cuts longer descriptions."""

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(findings: Findings, color: bool) -> str:
    """One run, in ASCII, indented; of more than 25,000 findings the gravest, in the order of output."""
    gravest = sorted(findings, key=lambda one: -one.severity)[:MAX_RESULTS]
    shown = list(in_order(gravest))
    rules = sorted({one.code for one in shown})
    driver = {"name": "rcc", "version": __version__, "rules": [_rule(code) for code in rules]}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": _results(shown, rules)}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str) -> dict[str, Any]:
    one = CODES[code]
    text = page(code) or one.title
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in one.name.split("-")),
        "shortDescription": {"text": one.title[:MAX_TEXT]},
        "fullDescription": {"text": one.title[:MAX_TEXT]},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": _LEVELS[Severity[one.severity.upper()]]},
    }


def _results(findings: list[Finding], rules: list[str]) -> list[dict[str, Any]]:
    seen: Counter[str] = Counter()
    results = []
    for one in findings:
        mark = _fingerprint(one)
        seen[mark] += 1
        results.append(_result(one, rules.index(one.code), f"{mark}:{seen[mark]}"))
    return results


def _result(one: Finding, index: int, fingerprint: str) -> dict[str, Any]:
    text = one.message if one.help is None else f"{one.message}\n\nhelp: {one.help}"
    result: dict[str, Any] = {
        "ruleId": one.code,
        "ruleIndex": index,
        "level": _LEVELS[one.severity],
        "message": {"text": text},
        "locations": [_location(one.place)] if one.place else [],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint},
    }
    if one.labels:
        result["relatedLocations"] = [{**_location(at.place), "message": {"text": at.text}} for at in one.labels]
    if one.fix and one.fix.edits and one.place:
        result["fixes"] = [_fix(one.place.source, one.fix.edits)]
    return result


def _fingerprint(one: Finding) -> str:
    """What stays the same while lines move: the code and the line that it is about."""
    line = one.place.source.line(one.place.line_column[0]).strip() if one.place else one.message
    return sha256(f"{one.code}\0{line}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _location(place: Place) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": _artifact(place.source), "region": _region(place)}}


def _artifact(source: Source) -> dict[str, str]:
    """A path from the working folder; an absolute one as a file URI."""
    name = posixpath.normpath(source.name)
    path = quote(name.encode("utf-8", "surrogateescape"))
    return {"uri": f"file://{path}"} if name.startswith("/") else {"uri": path, "uriBaseId": "%SRCROOT%"}


def _region(place: Place) -> dict[str, int]:
    line, column = place.line_column
    end_line, end_column = place.source.line_column(place.span.end)
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _fix(source: Source, edits: tuple[Edit, ...]) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": _region(Place(source, edit.span)), "insertedContent": {"text": edit.text}} for edit in edits
    ]
    return {"artifactChanges": [{"artifactLocation": _artifact(source), "replacements": replacements}]}
