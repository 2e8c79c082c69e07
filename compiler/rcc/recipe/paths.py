"""Paths as texts: on the nodes and in the container, where nothing can be looked at."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from rcc.recipe.keys import ABSOLUTE, SYSTEM_FOLDERS


def not_absolute(path: str) -> tuple[str, str] | None:
    """What is wanted in place of the path, and what to do; None for one that will do."""
    if "\n" in path:
        return "a path of one line", "take the line break out"
    if not re.fullmatch(ABSOLUTE, path):
        return "an absolute path without `..`", "write the whole path, from `/`"
    return None


def normal(path: str) -> str:
    """A path without what means nothing in it."""
    return posixpath.normpath(path) if path else path


def is_system_folder(path: str) -> bool:
    """Whether the folder is a node's own, so that nobody else may fill it or hand it over."""
    return normal(path) in SYSTEM_FOLDERS


def system_folder(path: str) -> tuple[str, str]:
    """What is wrong with such a folder, and what to do."""
    return f"`{path}` is a folder of the system", "name a folder that nothing else uses"


def lies_in(path: str, folder: str) -> bool:
    """Whether a path is a folder or below it."""
    return folder != "" and (normal(path) + "/").startswith(normal(folder).rstrip("/") + "/")


_LONGEST = 4096


def above(path: str) -> Iterator[str]:
    """The folders around a normal path, the root apart, from the inside out; none where no system takes the path."""
    while len(path) < _LONGEST and path.count("/") > 1:
        path = path.rpartition("/")[0]
        yield path
