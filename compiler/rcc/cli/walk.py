"""Finds the files to look at: what is named, and what lies in folders, except what git ignores."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rcc.lint.kind import kind_by_name

if TYPE_CHECKING:
    from rcc.cli.ignored import Ignored

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
    """What a glob matches where no shell has expanded it; the glob itself where that is nothing.

    Of what git ignores it matches what lies in a folder that the glob names itself.
    """
    from glob import glob

    from rcc.cli.ignored import Ignored

    paths = sorted(glob(pattern, recursive=True))
    top = os.path.dirname(pattern[: next(index for index, sign in enumerate(pattern) if sign in _WILD)] + "_") or "."
    ignored = Ignored(top)
    ignored.enter(top)
    for path in paths:
        if _left_out(path, top, ignored):
            continue
        if os.path.isdir(path):
            yield from _in_folder(path, kinds)
        else:
            yield path
    if not paths:
        yield pattern


def _left_out(path: str, top: str, ignored: Ignored) -> bool:
    """Whether a path, or a folder between it and `top`, is one that a walk passes over."""
    here = top
    for part in os.path.relpath(path, top).split("/"):
        here = os.path.join(here, part)
        folder = os.path.isdir(here)
        if (folder and part in _SKIPPED) or ignored.ignores(here, folder=folder):
            return True
        if folder:
            ignored.enter(here)
    return False


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
