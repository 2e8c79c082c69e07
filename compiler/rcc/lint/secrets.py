"""Secrets that stand in a file: in values and in comments, since both are read by whoever has the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rcc.diagnostic import Finding, finding
from rcc.source import Path, Place, Span
from rcc.syntax.document import Document

# What a token begins with, what it is, and what follows; no other character of a word stands before it.
_TOKENS = (
    ("hf_", "a Hugging Face token", r"[A-Za-z0-9]{30,}"),
    ("gh", "a GitHub token", r"[opsur]_[A-Za-z0-9]{36,}"),
    ("github_pat_", "a GitHub token", r"[A-Za-z0-9_]{22,}"),
    ("glpat-", "a GitLab token", r"[A-Za-z0-9_-]{20,}"),
    ("AKIA", "an AWS access key", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("ASIA", "an AWS access key", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("AIza", "a Google API key", r"[A-Za-z0-9_-]{35}"),
    ("nvapi-", "an NVIDIA API key", r"[A-Za-z0-9_-]{40,}"),
    ("xox", "a Slack token", r"[abprs]-[A-Za-z0-9-]{20,}"),
    ("sk-", "an API key", r"(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}"),
    ("eyJ", "a signed token", r"[A-Za-z0-9_-]{10,}+\.eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{10,}"),
    ("-----BEGIN", "a private key", r" (?:[A-Z]+ )*PRIVATE KEY-----"),
)
# `https://user:password@host`, where the password is neither a template or variable nor a word that stands for one.
_IN_ADDRESS = re.compile(
    r"://[^\s/@:\"'?#]*:(?!(?:pass|passwd|password|secret|x+|\*+|\.+|<[^>]*>)@)([^\s/@\"'?#{$<]+)@", re.IGNORECASE
)
_WORD = re.compile(r"[A-Za-z0-9_-]")
_NAMES = ("token", "secret", "password", "passwd", "key")
_DASHES = 2
SHORTEST = 16
_BITS_A_CHARACTER = 3.2
_NO_SECRET = ("{{", "<<", "$", "://")


def check_secret_in_clear(document: Document) -> Iterator[Finding]:
    """RCC412: what looks like a secret by its form, also in a comment; or by its name and its randomness."""
    by_name = _by_name(document, document.values, ()) if _names_a_secret(document.source.text.lower()) else ()
    told = [*((Place(document.source, span), what) for span, what in by_form(document.source.text)), *by_name]
    for place, what in {place.span.start: (place, what) for place, what in reversed(told)}.values():
        help = "revoke it, remove it, and name the variable in `secrets`: its value then stays on the node"
        yield finding("RCC412", f"{what} stands here in clear", place, help=help)


def by_form(text: str) -> Iterator[tuple[Span, str]]:
    """Where tokens stand in a text, and of what kind each is."""
    for start, what, form in _TOKENS:
        at = text.find(start)
        while at >= 0:
            end = at + len(start)
            match = re.compile(form).match(text, end) if _begins(text, at) else None
            if match:
                yield Span(at, match.end()), what
            at = text.find(start, match.end() if match else end)
    if "://" in text and "@" in text:
        yield from ((Span(*match.span(1)), "a password") for match in _IN_ADDRESS.finditer(text))


def _begins(text: str, at: int) -> bool:
    """Whether no word goes on here; dashes as before a flag belong to none."""
    first = at
    while first and text[first - 1] == "-" and at - first < _DASHES:
        first -= 1
    return not first or not _WORD.match(text, first - 1)


def _names_a_secret(text: str) -> bool:
    """A cheap look: whether a word such as `token` ends where a name ends, before a value or the next word."""
    for name in _NAMES:
        at = text.find(name)
        while at >= 0:
            at += len(name)
            behind = text[at : at + 8].lstrip("\"' \t")
            if behind[:1] in ("=", ",") and behind[1:].lstrip()[:1] in ("", '"', "'"):
                return True
            at = text.find(name, at)
    return False


def _by_name(document: Document, values: Any, path: Path) -> Iterator[tuple[Place, str]]:
    """Values whose key, or the word before them in an array, says that they are secret."""
    before = ""
    for step, value in values.items() if isinstance(values, dict) else enumerate(values):
        name = step if isinstance(values, dict) else before
        if isinstance(value, dict | list):
            yield from _by_name(document, value, (*path, step))
        elif isinstance(value, str):
            flag, _, joined = value.partition("=") if value[:1] == "-" else (str(name), "", value)
            if len(joined) >= SHORTEST and _is_secret_name(flag) and is_random(joined):
                place = document.string_place((*path, step), len(value) - len(joined), len(value))
                yield place, f"the value of `{flag}`"
        before = value if isinstance(value, str) else ""


def _is_secret_name(name: str) -> bool:
    return name.lower().endswith(_NAMES)


def is_random(text: str) -> bool:
    """Whether a text has letters and digits in no order, as passwords have and names have not."""
    if text.startswith("/") or any(mark in text for mark in _NO_SECRET):
        return False
    if not (re.search(r"[0-9]", text) and re.search(r"[A-Za-z]", text)):
        return False
    from collections import Counter
    from math import log2

    again = sum(count * log2(count) for count in Counter(text).values() if count > 1)
    return log2(len(text)) - again / len(text) >= _BITS_A_CHARACTER  # the entropy
