"""One line a finding: `file:line:column: severity[code] message`."""

from __future__ import annotations

from rcc.cli.render.harmless import harmless
from rcc.cli.render.summary import summary
from rcc.diagnostic import Finding, Findings


def render(findings: Findings, color: bool) -> str:
    """Without colour: made for `grep` and editors."""
    return "".join([*(_line(one) for one in findings), summary(findings)])


def _line(one: Finding) -> str:
    where = f"{one.place}: " if one.place else ""
    return harmless(f"{where}{one.severity}[{one.code}] {one.message}") + "\n"
