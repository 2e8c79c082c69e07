"""Findings as rustc shows them: what is wrong, the line with the place underlined, why, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rcc.cli.render.harmless import harmless
from rcc.cli.render.snippet import Mark, Row, by_file, rows
from rcc.cli.render.summary import summary
from rcc.diagnostic import Finding, Findings, Severity

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_FRAME = "blue"


def render(findings: Findings, color: bool) -> str:
    """A block a finding, with a blank line after each, and a summary."""
    blocks = ["\n".join(_Block(one, color).lines()) + "\n\n" for one in findings]
    return "".join([*blocks, summary(findings)])


class _Block:
    """One finding's lines. The gutter is as wide as its largest line number."""

    def __init__(self, one: Finding, color: bool) -> None:
        self.finding = one
        self.color = color
        self.marks = _marks(one)
        self.gutter = max((len(str(mark.line)) for mark in self.marks), default=1)

    def lines(self) -> Iterator[str]:
        one = self.finding
        head = self._styled(f"{one.severity}[{one.code}]", _COLORS[one.severity])
        yield head + self._styled(f": {self._indented(one.message, 0)}")
        yield from self._snippets()
        for note in one.notes:
            yield self._remark("note", note)
        if one.help:
            yield self._remark("help", one.help)

    def _snippets(self) -> Iterator[str]:
        for number, marks in enumerate(by_file(self.marks)):
            yield self._arrow("-->" if number == 0 else ":::", marks[0])
            if marks[0].place.source.text:
                yield self._bar("")
                yield from (self._row(row) for row in rows(marks))
        if self.marks and (self.finding.notes or self.finding.help) and self.marks[-1].place.source.text:
            yield self._bar("")

    def _arrow(self, sign: str, mark: Mark) -> str:
        source = mark.place.source
        where = str(mark.place) if source.text else source.name
        return f"{' ' * self.gutter}{self._styled(sign, _FRAME)} {harmless(where)}"

    def _row(self, row: Row) -> str:
        if row.gutter == "...":
            return self._styled("...", _FRAME)
        bar = self._bar(row.gutter)
        if row.mark is None:
            return f"{bar} {row.text}".rstrip()
        color = _COLORS[self.finding.severity] if row.mark.primary else _FRAME
        return f"{bar} {self._styled(row.text, color)}"

    def _bar(self, number: str) -> str:
        return self._styled(f"{number:>{self.gutter}} |", _FRAME)

    def _remark(self, kind: str, text: str) -> str:
        lead = f"{' ' * self.gutter} {self._styled('=', _FRAME)} {self._styled(kind)}: "
        return lead + self._indented(text, self.gutter + len(" = : ") + len(kind))

    def _indented(self, text: str, by: int) -> str:
        return ("\n" + " " * by).join(harmless(line) for line in text.split("\n"))

    def _styled(self, text: str, color: str | None = None) -> str:
        return click.style(text, fg=color, bold=True) if self.color else text


def _marks(one: Finding) -> list[Mark]:
    labels = [Mark(label.place, label.text, primary=False) for label in one.labels]
    return [Mark(one.place, one.label or "", primary=True), *labels] if one.place else labels
