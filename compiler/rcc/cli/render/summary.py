"""The last line: how many findings, and how many of them `rcc lint --fix` mends."""

from __future__ import annotations

from rcc.diagnostic import Findings, Severity

_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "info"}


def summary(findings: Findings) -> str:
    """`2 errors, 1 warning (1 fixable with ...)`; empty without findings."""
    counts = [_count(sum(1 for one in findings if one.severity is severity), word) for severity, word in _WORDS.items()]
    told = ", ".join(count for count in counts if count)
    return f"{told}{_fixable(findings)}\n" if told else ""


def _count(number: int, word: str) -> str:
    plural = "" if number == 1 or word == "info" else "s"
    return f"{number} {word}{plural}" if number else ""


def _fixable(findings: Findings) -> str:
    safe = sum(1 for one in findings if one.fix and one.fix.safe)
    unsafe = sum(1 for one in findings if one.fix and not one.fix.safe)
    ways = ((safe, "--fix"), (unsafe, "--unsafe-fixes"))
    told = ", ".join(f"{number} fixable with `rcc lint {option}`" for number, option in ways if number)
    return f" ({told})" if told else ""
