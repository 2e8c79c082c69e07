"""What git would ignore, read from `.gitignore` files and `.git/info/exclude`, without git."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache

from rcc.quick import dataclass


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
        above = list(_above(os.path.abspath(top)))
        repository = above[-1]
        if os.path.isdir(os.path.join(repository, ".git")):
            self._add(repository, os.path.join(repository, ".git", "info", "exclude"))
            for folder in reversed(above[1:]):
                self._add(folder, os.path.join(folder, ".gitignore"))

    def enter(self, folder: str) -> None:
        """Takes the ignore file of a folder, which is entered before those below it."""
        folder = os.path.abspath(folder)
        self._add(folder, os.path.join(folder, ".gitignore"))

    def ignores(self, path: str, *, folder: bool) -> bool:
        """Whether git ignores a path whose folder was entered; the last rule that matches decides."""
        path = os.path.abspath(path)
        for base, rules in reversed(self._rules):
            if not path.startswith(base.rstrip("/") + "/"):
                continue
            relative = path[len(base.rstrip("/")) + 1 :]
            for rule in reversed(rules):
                if (folder or not rule.folders_only) and rule.pattern.fullmatch(relative):
                    return not rule.negated
        return False

    def _add(self, base: str, file: str) -> None:
        try:
            with open(file, encoding="utf-8", errors="surrogateescape") as lines:
                rules = tuple(rule for line in lines if (rule := _rule(line.rstrip("\n"))))
        except OSError:
            return
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
    line = line.rstrip("/")
    anchored = "/" in line
    line = line.removeprefix("/")
    try:
        pattern = re.compile(("" if anchored else "(?:.*/)?") + _translated(line), re.DOTALL)
    except re.error:
        return None
    return _Rule(pattern, folders_only, negated) if line else None


def _translated(glob: str) -> str:
    """A glob of git's as a regular expression."""
    result, index = "", 0
    while index < len(glob):
        rest = glob[index:]
        if rest.startswith("**/") and (index == 0 or glob[index - 1] == "/"):
            result, index = result + "(?:.*/)?", index + 3
        elif rest == "**" and index and glob[index - 1] == "/":
            result, index = result + ".+", index + 2
        elif rest[0] == "*":
            result, index = result + "[^/]*", index + 1
        elif rest[0] == "?":
            result, index = result + "[^/]", index + 1
        elif match := re.match(r"\[([!^]?)(\]?[^\]]*)\]", rest):
            inner = match[2].replace("\\", "\\\\").replace("[", "\\[")
            result, index = result + f"(?!/)[{'^' if match[1] else ''}{inner}]", index + match.end()
        else:
            escaped = rest[0] == "\\" and len(rest) > 1
            result, index = result + re.escape(rest[1] if escaped else rest[0]), index + (2 if escaped else 1)
    return result
