"""Paths as texts: on the nodes and in the container, where nothing can be looked at."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator


def normal(path: str) -> str:
    """A path without what means nothing in it."""
    return posixpath.normpath(path) if path else path


def lies_in(path: str, folder: str) -> bool:
    """Whether a path is a folder or below it."""
    return folder != "" and (normal(path) + "/").startswith(normal(folder).rstrip("/") + "/")


def above(path: str) -> Iterator[str]:
    """The folders around a path, the root apart, from the inside out."""
    while path.count("/") > 1:
        path = posixpath.dirname(path)
        yield path
