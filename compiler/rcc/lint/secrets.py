"""Secrets that stand in a file: in values and in comments, since both are read by whoever has the file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import log2

from rcc.diagnostic import Finding, finding
from rcc.source import Place, Source, Span

# A token begins where no other character of a word stands before it, so that no text is searched twice.
_KINDS = {
    "HUGGING_FACE": ("a Hugging Face token", r"hf_[A-Za-z0-9]{30,}"),
    "GITHUB": ("a GitHub token", r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}"),
    "GITLAB": ("a GitLab token", r"glpat-[A-Za-z0-9_-]{20,}"),
    "AWS": ("an AWS access key", r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    "GOOGLE": ("a Google API key", r"AIza[A-Za-z0-9_-]{35}"),
    "NVIDIA": ("an NVIDIA API key", r"nvapi-[A-Za-z0-9_-]{40,}"),
    "SLACK": ("a Slack token", r"xox[abprs]-[A-Za-z0-9-]{20,}"),
    "OPENAI": ("an API key", r"sk-[A-Za-z0-9_-]{20,}"),
    "JWT": ("a signed token", r"eyJ[A-Za-z0-9_-]{10,}+\.eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{10,}"),
}
_TOKEN = re.compile("(?<![A-Za-z0-9_-])(?:" + "|".join(f"(?P<{kind}>{one})" for kind, (_, one) in _KINDS.items()) + ")")
_PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----")
_NAMED = re.compile(
    r"""(?:token|secret|password|passwd|api[_-]?key|access[_-]?key|secret[_-]?key)["']?\s*+[=,]\s*+["']([^"'\s]{16,})["']""",
    re.IGNORECASE,
)
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
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "OPENAI" or is_random(match[0]):
            yield match.start(), match.end(), _KINDS[str(match.lastgroup)][0]
    for match in _PRIVATE_KEY.finditer(text):
        yield match.start(), match.end(), "a private key"
    for match in _NAMED.finditer(text):
        if is_random(match[1]):
            yield match.start(1), match.end(1), "what looks like a secret"


def is_random(text: str) -> bool:
    """Whether a text has letters and digits in no order, as passwords have and names have not."""
    if not (re.search(r"[0-9]", text) and re.search(r"[A-Za-z]", text)) or re.search(r"\{\{|<<|\$|^/|://", text):
        return False
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
