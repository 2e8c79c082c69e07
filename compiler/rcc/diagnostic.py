"""What rcc has to say: findings as values, rendered elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from itertools import islice

from rcc.codes import CODES
from rcc.quick import dataclass
from rcc.source import Path, Place, Span, whole


class Severity(IntEnum):
    """How bad a finding is; only an error stops a pass."""

    INFO = 0
    WARNING = 1
    ERROR = 2

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that a finding is about, with what to say there."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of a span of the file that the finding is in."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that mend a finding. A safe one keeps, or restores, what the author meant; another may change it."""

    edits: tuple[Edit, ...]
    safe: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to tell the user: what is wrong (`message`), where (`place`), and what to do (`help`).

    A target, which sees no file, says which value of the plan it is `about` instead; the place is found from that.
    """

    code: str
    severity: Severity
    message: str
    place: Place | None = None
    label: str | None = None
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None
    fix: Fix | None = None
    about: Path = ()

    @property
    def name(self) -> str:
        """The kebab-case name of the code."""
        return CODES[self.code].name

    @property
    def sort_key(self) -> tuple[str, int, str, str]:
        """Order of output: file, place, code, message."""
        if self.place is None:
            return ("", 0, self.code, self.message)
        return (self.place.source.name, self.place.span.start, self.code, self.message)


Findings = tuple[Finding, ...]


def finding(
    code: str,
    message: str,
    place: Place | None = None,
    *,
    label: str | None = None,
    labels: Iterable[Label] = (),
    notes: Iterable[str] = (),
    help: str | None = None,
    fix: Fix | None = None,
    severity: Severity | None = None,
    about: Path = (),
) -> Finding:
    """A finding with the severity that its code has by default."""
    level = Severity[CODES[code].severity.upper()] if severity is None else severity
    return Finding(code, level, message, place, label, tuple(labels), tuple(notes), help, fix, about)


def reason(error: OSError) -> str:
    """Why the system refuses something, as the end of a message."""
    return (error.strerror or type(error).__name__).lower()


def said(error: BaseException) -> str:
    """An exception in its own words, as the end of a message about somebody else's code."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def cannot_read(name: str, error: OSError, place: Place | None = None, help: str | None = None) -> Finding:
    """RCC007: a file that the system does not give; `place` is where it is asked for, the file itself unless stated."""
    return finding("RCC007", f"cannot read `{name}`: {reason(error)}", place or whole(name), help=help)


MOST = 500
"""How many findings of a kind a file's reader can make use of; a file has room for ten thousand."""


def first_ones(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The first findings of a kind, and, where there are more, one that says so and the first that is graver.

    So the gravest is always told. Once it is, the others are not even made.
    """
    gravest = Severity.INFO
    for number, one in enumerate(findings):
        if number == MOST:
            message = f"there are more than {MOST} findings like this one"
            yield finding("RCC011", message, one.place, help="mend the others first")
        if number >= MOST and gravest is Severity.ERROR:
            return
        if number < MOST or one.severity > gravest:
            yield one
        gravest = max(gravest, one.severity)


def enough(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Of the findings of one rule, all as grave, as many as show `first_ones` that there are more."""
    return islice(findings, MOST + 1)


def has_errors(findings: Iterable[Finding]) -> bool:
    """Whether any of the findings stops the pass that gave it."""
    return any(one.severity is Severity.ERROR for one in findings)


def in_order(findings: Iterable[Finding]) -> Findings:
    """Sorted for output, each said once, also where a file was read twice."""
    once = {(one.sort_key, one.help, one.about): one for one in findings}
    return tuple(sorted(once.values(), key=lambda one: one.sort_key))
