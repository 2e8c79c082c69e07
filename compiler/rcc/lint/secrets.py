"""Secrets that stand in a file: in values and in comments, since both are read by whoever has the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rcc.diagnostic import Finding, finding
from rcc.source import Place, Source, Span

# What a token begins with, what it is, and its form. No other character of a word stands before it, so that no text is
# searched twice.
_TOKENS = (
    ("hf_", "a Hugging Face token", r"hf_[A-Za-z0-9]{30,}"),
    ("gh", "a GitHub token", r"gh[pousr]_[A-Za-z0-9]{36,}"),
    ("github_pat_", "a GitHub token", r"github_pat_[A-Za-z0-9_]{22,}"),
    ("glpat-", "a GitLab token", r"glpat-[A-Za-z0-9_-]{20,}"),
    ("AKIA", "an AWS access key", r"AKIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("ASIA", "an AWS access key", r"ASIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("AIza", "a Google API key", r"AIza[A-Za-z0-9_-]{35}"),
    ("nvapi-", "an NVIDIA API key", r"nvapi-[A-Za-z0-9_-]{40,}"),
    ("xox", "a Slack token", r"xox[abprs]-[A-Za-z0-9-]{20,}"),
    ("sk-", "an API key", r"sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}"),
    ("eyJ", "a signed token", r"eyJ[A-Za-z0-9_-]{10,}+\.eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{10,}"),
    ("-----BEGIN", "a private key", r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
)
_NAMES = ("token", "secret", "password", "passwd", "key")
_VALUE = re.compile(r"""["']?\s*+[=,]\s*+["']([^"'\s]{16,})["']""")
_BITS_A_CHARACTER = 3.2


def check_secret_in_clear(source: Source) -> Iterator[Finding]:
    """RCC412: what looks like a secret by its form, or by its name and its randomness."""
    told: set[int] = set()
    for start, end, what in _secrets(source.text):
        if start not in told:
            told.add(start)
            help = "revoke it, remove it, and name the variable in `secrets`: its value then stays on the node"
            yield finding("RCC412", f"{what} stands here in clear", Place(source, Span(start, end)), help=help)


def _secrets(text: str) -> Iterator[tuple[int, int, str]]:
    for start, what, form in _TOKENS:
        for match in re.finditer(f"(?<![A-Za-z0-9_-]){form}", text) if start in text else ():
            yield match.start(), match.end(), what
    lower = text.lower()
    for name in _NAMES:
        at = lower.find(name)
        while at >= 0:
            match = _VALUE.match(text, at + len(name))
            if match and is_random(match[1]):
                yield match.start(1), match.end(1), "what looks like a secret"
            at = lower.find(name, at + 1)


def is_random(text: str) -> bool:
    """Whether a text has letters and digits in no order, as passwords have and names have not."""
    if not (re.search(r"[0-9]", text) and re.search(r"[A-Za-z]", text)) or re.search(r"\{\{|<<|\$|^/|://", text):
        return False
    from collections import Counter
    from math import log2

    counts = Counter(text).values()
    return -sum(count / len(text) * log2(count / len(text)) for count in counts) >= _BITS_A_CHARACTER


def hidden(source: Source, findings: Iterable[Finding]) -> Source:
    """The source with every secret's characters replaced, so that no excerpt of it shows one."""
    text = source.text
    for one in findings:
        if one.code == "RCC412" and one.place:
            span = one.place.span
            text = text[: span.start] + "*" * (span.end - span.start) + text[span.end :]
    return Source(source.name, text)
