"""Which kind of file a file is: by its name, then by what stands in it."""

from __future__ import annotations

import posixpath
import re
from typing import Literal

Kind = Literal["recipe", "cluster", "lock", "settings"]

NAMES: dict[str, Kind] = {
    "cluster.toml": "cluster",
    "rcc.toml": "settings",
    "recipe.lock": "lock",
    "recipe.toml": "recipe",
}
SUFFIXES: dict[str, Kind] = {".recipe.toml": "recipe", ".cluster.toml": "cluster", ".recipe.lock": "lock"}
_NODES = r"^[ \t]*(?:\[\[[ \t]*nodes[ \t]*\]\]|nodes[ \t]*=)"
_RECIPE = r"^[ \t]*(?:engine|docker_image|extends)[ \t]*="


def kind_by_name(name: str) -> Kind | None:
    """The kind that a file's name says."""
    base = posixpath.basename(name)
    return NAMES.get(base) or next((kind for suffix, kind in SUFFIXES.items() if base.endswith(suffix)), None)


def kind_of(name: str, data: bytes) -> Kind:
    """The kind of a file; one that looks like none is read as a recipe."""
    named = kind_by_name(name)
    if named:
        return named
    text = data.decode("utf-8", "replace")
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        return "lock"
    has_nodes = re.search(_NODES, text, re.MULTILINE) is not None
    return "cluster" if has_nodes and not re.search(_RECIPE, text, re.MULTILINE) else "recipe"
