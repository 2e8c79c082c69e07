"""Findings for programs: every field always, `null` for none; lines and columns are code points from 1."""

from __future__ import annotations

import json
from typing import Any

from rcc.cli.render import presentable
from rcc.diagnostic import Finding, Findings
from rcc.source import Place

VERSION = 1


def render(findings: Findings, color: bool) -> str:
    """`{"version": 1, "findings": [...]}` in ASCII, indented, with a final newline."""
    return json.dumps({"version": VERSION, "findings": [*map(_record, findings)]}, indent=2) + "\n"


def records(findings: Findings) -> list[dict[str, Any]]:
    """The findings as JSON values without secrets, for commands whose output holds more."""
    return [_record(one) for one in presentable(findings)]


def _record(one: Finding) -> dict[str, Any]:
    return {
        "code": one.code,
        "name": one.name,
        "severity": str(one.severity),
        "message": one.message,
        **_where(one.place),
        "labels": [{"text": label.text, **_where(label.place)} for label in one.labels],
        "help": one.help,
        "fixable": one.fix is not None,
    }


def _where(place: Place | None) -> dict[str, Any]:
    if place is None:
        return dict.fromkeys(("file", "line", "column", "end_line", "end_column"))
    line, column = place.line_column
    end_line, end_column = place.source.line_column(place.span.end)
    return {"file": place.source.name, "line": line, "column": column, "end_line": end_line, "end_column": end_column}
