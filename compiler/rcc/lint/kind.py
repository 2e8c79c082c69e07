"""Which kind of file a file is: by its name, then by what stands in it."""

from __future__ import annotations

import posixpath
import re
from typing import Literal

Kind = Literal["recipe", "cluster", "lock", "settings"]

NAMES = {"recipe.toml": "recipe", "cluster.toml": "cluster", "recipe.lock": "lock", "rcc.toml": "settings"}
SUFFIXES = {".recipe.toml": "recipe", ".cluster.toml": "cluster", ".recipe.lock": "lock"}
_NODES = re.compile(r"^[ \t]*(?:\[\[[ \t]*nodes[ \t]*\]\]|nodes[ \t]*=)", re.MULTILINE)
_RECIPE = re.compile(r"^[ \t]*(?:engine|docker_image|extends)[ \t]*=", re.MULTILINE)


def kind_by_name(name: str) -> Kind | None:
    """The kind that a file's name says."""
    base = posixpath.basename(name)
    if base in NAMES:
        return NAMES[base]  # type: ignore[return-value]
    return next((kind for suffix, kind in SUFFIXES.items() if base.endswith(suffix)), None)  # type: ignore[misc]


def kind_of(name: str, data: bytes) -> Kind:
    """The kind of a file; one that looks like none is read as a recipe."""
    named = kind_by_name(name)
    if named:
        return named
    text = data.decode("utf-8", "replace")
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        return "lock"
    return "cluster" if _NODES.search(text) and not _RECIPE.search(text) else "recipe"
