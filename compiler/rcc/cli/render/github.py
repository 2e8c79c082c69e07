"""Findings as GitHub's workflow commands, which a run shows as annotations."""

from __future__ import annotations

from rcc.cli.render.harmless import harmless
from rcc.diagnostic import Finding, Findings, Severity

_KINDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(findings: Findings, color: bool) -> str:
    """A line a finding: `::error file=…,line=…::message`; columns only where a finding ends in its line."""
    return "".join(_command(one) + "\n" for one in findings)


def _command(one: Finding) -> str:
    properties = {**_where(one), "title": f"{one.code} {one.name}"}
    listed = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    message = one.message if one.help is None else f"{one.message}\nhelp: {one.help}"
    return f"::{_KINDS[one.severity]} {listed}::{_data(message)}"


def _where(one: Finding) -> dict[str, str | int]:
    if one.place is None:
        return {}
    line, column = one.place.line_column
    end_line, end_column = one.place.source.line_column(one.place.span.end)
    where: dict[str, str | int] = {"file": one.place.source.name, "line": line, "endLine": end_line}
    # The runner refuses columns of an annotation over several lines.
    return {**where, "col": column, "endColumn": end_column} if line == end_line else where


def _data(text: str) -> str:
    lines = (harmless(line) for line in text.replace("%", "%25").split("\n"))
    return "%0A".join(lines)


def _property(text: str) -> str:
    return harmless(text.replace("%", "%25")).replace(":", "%3A").replace(",", "%2C")
