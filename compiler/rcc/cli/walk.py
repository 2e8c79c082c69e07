"""Finds the files to look at: what is named, and what lies in folders, except what git ignores."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from rcc.lint.kind import kind_by_name

_SKIPPED = frozenset((".git", ".rcc", ".venv", "node_modules", "__pycache__"))
_WILD = frozenset("*?[")


def find_files(names: Iterable[str], kinds: frozenset[str]) -> Iterator[str]:
    """Files as they are named, missing ones too; those of the wanted kinds in folders; what globs match. Each once."""
    seen: set[str] = set()
    for name in names:
        for path in _expanded(name, kinds):
            if os.path.normpath(path) not in seen:
                seen.add(os.path.normpath(path))
                yield path


def _expanded(name: str, kinds: frozenset[str]) -> Iterable[str]:
    if os.path.isdir(name):
        return _in_folder(name, kinds)
    if not os.path.lexists(name) and not _WILD.isdisjoint(name):
        return _matching(name, kinds)
    return (name,)


def _matching(pattern: str, kinds: frozenset[str]) -> Iterator[str]:
    """What a glob matches where no shell has expanded it; the glob itself where that is nothing."""
    from glob import glob

    paths = sorted(glob(pattern, recursive=True))
    for path in paths:
        if os.path.isdir(path):
            yield from _in_folder(path, kinds)
        else:
            yield path
    if not paths:
        yield pattern


def _in_folder(top: str, kinds: frozenset[str]) -> Iterator[str]:
    from rcc.cli.ignored import Ignored

    ignored = Ignored(top)
    for folder, folders, names in os.walk(top):
        ignored.enter(folder)
        entered = [one for one in folders if one not in _SKIPPED]
        folders[:] = sorted(one for one in entered if not ignored.ignores(os.path.join(folder, one), folder=True))
        for name in sorted(names):
            path = os.path.normpath(os.path.join(folder, name))
            if kind_by_name(name) in kinds and not ignored.ignores(os.path.join(folder, name), folder=False):
                yield path
