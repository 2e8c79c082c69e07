"""What git would ignore, read from `.gitignore` files and `.git/info/exclude`, without git."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache

from rcc.quick import dataclass

_BYTES = "latin-1"
"""Git matches bytes: each is a character here."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """A line of an ignore file, for paths relative to that file's folder."""

    pattern: re.Pattern[str]
    folders_only: bool
    negated: bool


class Ignored:
    """The ignore files that count in a folder: its own, those above it in the repository, those below as they come."""

    def __init__(self, top: str) -> None:
        self._rules: list[tuple[str, tuple[_Rule, ...]]] = []
        self._entered: set[str] = set()
        above = list(_above(os.path.abspath(top)))
        repository = above[-1]
        if os.path.exists(os.path.join(repository, ".git")):
            self._add(repository, os.path.join(_git_folder(repository), "info", "exclude"))
            for folder in reversed(above[1:]):
                self._add(folder, os.path.join(folder, ".gitignore"))

    def enter(self, folder: str) -> None:
        """Takes the ignore file of a folder, which is entered before those below it."""
        folder = os.path.abspath(folder)
        if folder not in self._entered:
            self._entered.add(folder)
            self._add(folder, os.path.join(folder, ".gitignore"))

    def ignores(self, path: str, *, folder: bool) -> bool:
        """Whether git ignores a path whose folder was entered; the last rule that matches decides."""
        path = os.path.abspath(path)
        for base, rules in reversed(self._rules):
            if not path.startswith(base.rstrip("/") + "/"):
                continue
            relative = os.fsencode(path[len(base.rstrip("/")) + 1 :]).decode(_BYTES)
            for rule in reversed(rules):
                if (folder or not rule.folders_only) and rule.pattern.fullmatch(relative):
                    return not rule.negated
        return False

    def _add(self, base: str, file: str) -> None:
        try:
            with open(file, "rb") as content:
                lines = content.read().removeprefix(b"\xef\xbb\xbf").decode(_BYTES).split("\n")
        except OSError:
            return
        rules = tuple(rule for line in lines if (rule := _rule(line)))
        if rules:
            self._rules.append((base, rules))


def _above(folder: str) -> Iterator[str]:
    """A folder and those above it, up to the one with `.git` in it, else up to the root."""
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if os.path.exists(os.path.join(folder, ".git")) or parent == folder:
            return
        folder = parent


def _git_folder(repository: str) -> str:
    """Git's own folder, which worktrees share: theirs, and a submodule's, is named in a file."""
    folder = os.path.join(repository, ".git")
    for name in ("", "commondir"):
        try:
            with open(os.path.join(folder, name) if name else folder, "rb") as file:
                stated = os.fsdecode(file.readline().rstrip(b"\r\n").removeprefix(b"gitdir: "))
        except OSError:
            continue
        folder = os.path.join(folder if name else repository, stated)
    return folder


@cache
def _rule(line: str) -> _Rule | None:
    line = line.removesuffix("\r")
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    line = line[1:] if negated else line.removeprefix("\\") if line[:2] in ("\\#", "\\!") else line
    folders_only = line.endswith("/")
    line = line.removesuffix("/")
    anchored = "/" in line
    line = line.removeprefix("/")
    try:
        pattern = re.compile(("" if anchored else "(?:.*/)?") + _translated(line), re.DOTALL)
    except (re.error, KeyError):
        return None
    return _Rule(pattern, folders_only, negated) if line else None


_MEMBER = r"\[:[a-z]+:\]|\\.|[^\]\\]"
_TOKEN = re.compile(rf"(\*+)(/?)|\[([!^]?)(\]?+(?:{_MEMBER})*)\]|\\(.)|(.)", re.DOTALL)
_MEMBERS = re.compile(r"\[:([a-z]+):\]|\\?(.)(?:-\\?(.))?", re.DOTALL)
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t-\r",
    "upper": "A-Z",
    "xdigit": "a-fA-F0-9",
}


def _translated(glob: str) -> str:
    """A glob of git's as a regular expression."""
    result = ""
    for token in _TOKEN.finditer(glob):
        stars, slash, negation, members, escaped, plain = token.groups()
        begins = token.start() == 0 or glob[token.start() - 1] == "/"
        if stars and len(stars) > 1 and begins and (slash or token.end() == len(glob)):
            result += "(?:.*/)?" if slash else ".*"
        elif stars:
            result += f"[^/]*{slash}"
        elif members is not None:
            result += f"(?!/)[{'^' if negation else ''}{''.join(map(_member, _MEMBERS.finditer(members)))}]"
        else:
            result += "[^/]" if plain == "?" else re.escape(escaped or plain)
    return result


def _member(one: re.Match[str]) -> str:
    """What stands in brackets, as a regular expression has it: a class, a range or a character."""
    name, first, last = one.groups()
    if name:
        return _CLASSES[name]
    return f"{re.escape(first)}-{re.escape(last)}" if last else re.escape(first)
