"""Which files of a repository are in LFS, by its `.gitattributes`."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase


def lfs_rule(path: str) -> Callable[[str], bool]:
    """Whether a file of the repository is in LFS; without a `.gitattributes` at `path` none is."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            rules = [rule for line in file if (rule := _rule(line))]
    except FileNotFoundError:
        rules = []

    def in_lfs(name: str) -> bool:
        # The last line that matches decides.
        return next((lfs for pattern, lfs in reversed(rules) if _matches(name, pattern)), False)

    return in_lfs


def _rule(line: str) -> tuple[str, bool] | None:
    """A line's pattern, and whether it puts files into LFS or takes them out; None for one about something else."""
    words = line.split()
    if not words or words[0].startswith("#"):
        return None
    filters = [word for word in words[1:] if word.lstrip("-!").partition("=")[0] == "filter"]
    return (words[0], filters[-1] == "filter=lfs") if filters else None


def _matches(name: str, pattern: str) -> bool:
    """A pattern without a slash is about names in any folder."""
    if "/" not in pattern:
        return fnmatchcase(name.rpartition("/")[2], pattern)
    pattern = pattern.lstrip("/")
    return fnmatchcase(name, pattern) or fnmatchcase(name, pattern.replace("**/", ""))
