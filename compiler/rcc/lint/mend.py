"""Applies fixes until there are none left, and none that makes a file worse."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rcc.diagnostic import Finding, Findings, Fix, Severity
from rcc.syntax.edit import apply_fixes

Lint = Callable[[str], Findings]
"""The findings in a text of the file."""

_ROUNDS = 50


def mended(name: str, text: str, lint: Lint, *, unsafe: bool) -> tuple[str, Findings]:
    """The text with every fix made that brings no new error, and what is left to find in it."""
    findings = lint(text)
    for _ in range(_ROUNDS):
        fixes = _batch(_fixes(name, findings, unsafe=unsafe))
        better = _improved(text, fixes, findings, lint)
        if better is None:
            break
        text, findings = better
    return text, findings


def _fixes(name: str, findings: Findings, *, unsafe: bool) -> list[Fix]:
    own = [one for one in findings if one.place and one.place.source.name == name]
    return [one.fix for one in own if one.fix and (one.fix.safe or unsafe)]


def _batch(fixes: list[Fix]) -> list[Fix]:
    """Fixes to make at once: all that stay in their place, and of those that move something the first alone.

    What is moved takes the blank lines around it along, and these are the next one's too.
    """
    moves = [one for one in fixes if len(one.edits) > 1]
    return [one for one in fixes if len(one.edits) == 1] + moves[:1]


def _improved(text: str, fixes: Sequence[Fix], findings: Findings, lint: Lint) -> tuple[str, Findings] | None:
    """The text after all fixes, else after the first one that does no harm; None where there is none."""
    for some in ([fixes] if fixes else []) + [[one] for one in fixes]:
        after, _ = apply_fixes(text, some)
        left = lint(after)
        if after != text and _is_sound(findings, left):
            return after, left
    return None


def _is_sound(before: Findings, after: Findings) -> bool:
    """Whether every error that is there now was there before."""
    return _errors(after) <= _errors(before)


def _errors(findings: Findings) -> set[tuple[str, str]]:
    return {_words(one) for one in findings if one.severity is Severity.ERROR}


def _words(one: Finding) -> tuple[str, str]:
    return (one.code, one.message)
