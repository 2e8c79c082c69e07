"""Applies fixes until there are none left, and none that makes a file worse."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rcc.diagnostic import Finding, Findings, Severity
from rcc.syntax.edit import apply_fixes

Lint = Callable[[str], Findings]
"""The findings in a text of the file."""

_ROUNDS = 50
_READ_AGAIN = 100_000
"""How many characters are linted again to mend a file: what a large one has more to mend is left for the next run."""


class _Readings:
    """Lints a text as often as its size allows."""

    def __init__(self, lint: Lint, size: int) -> None:
        self._lint = lint
        self._left = max(_READ_AGAIN // (size + 1), 1)

    def findings(self, text: str) -> Findings | None:
        """The findings in a text; None where there were enough readings."""
        self._left -= 1
        return self._lint(text) if self._left >= 0 else None


def mended(name: str, text: str, lint: Lint, *, unsafe: bool) -> tuple[str, Findings]:
    """The text with every fix made that does no harm, and what is left to find in it."""
    findings = lint(text)
    readings = _Readings(lint, len(text))
    for _ in range(_ROUNDS):
        better = _improved(text, _fixable(name, findings, unsafe=unsafe), findings, readings)
        if better is None:
            break
        text, findings = better
    return text, findings


def _fixable(name: str, findings: Findings, *, unsafe: bool) -> list[Finding]:
    own = [one for one in findings if one.place and one.place.source.name == name]
    return [one for one in own if one.fix and (one.fix.safe or unsafe)]


def _batch(mendable: Sequence[Finding]) -> list[Finding]:
    """Findings to mend at once: all whose fix stays in its place, and of the moves the first alone.

    What is moved takes the blank lines around it along, and these are the next one's too.
    """
    moves = [one for one in mendable if one.fix and len(one.fix.edits) > 1]
    return [one for one in mendable if one.fix and len(one.fix.edits) == 1] + moves[:1]


def _improved(
    text: str, mendable: Sequence[Finding], findings: Findings, readings: _Readings
) -> tuple[str, Findings] | None:
    """The text after all fixes, or all safe ones, else after the first one that does no harm; None where none is."""
    safe = [one for one in mendable if one.fix and one.fix.safe]
    batches = [_batch(mendable), _batch(safe)] if len(safe) < len(mendable) else [_batch(mendable)]
    for some in (*filter(None, batches), *([one] for one in mendable)):
        after, _ = apply_fixes(text, dict.fromkeys(one.fix for one in some if one.fix))
        if after == text:
            continue
        left = readings.findings(after)
        if left is None:
            return None
        if _is_sound(some, findings, left):
            return after, left
    return None


def _is_sound(mended: Sequence[Finding], before: Findings, after: Findings) -> bool:
    """Whether no fix did harm: with what is left of the file read, every error that is there was there before.

    What a safe fix brings to light was there before, though nobody could see it: a key that is back in its place has a
    value that nobody had looked at. So after safe ones the file has to be as readable as it was, and what they mend
    gone.
    """
    new = _errors(after) - _errors(before)
    if all(one.fix and one.fix.safe for one in mended):
        fewer = _total(mended, before) - _total(mended, after)
        more_than_told = any(one.code == "RCC011" for one in before)
        return not any(code.startswith("RCC00") for code, _ in new) and (fewer > 0 or (more_than_told and fewer == 0))
    return not new


def _total(mended: Sequence[Finding], findings: Findings) -> int:
    told = {_words(one) for one in mended}
    return sum(_words(one) in told for one in findings)


def _errors(findings: Findings) -> set[tuple[str, str]]:
    return {_words(one) for one in findings if one.severity is Severity.ERROR}


def _words(one: Finding) -> tuple[str, str]:
    return (one.code, one.message)
