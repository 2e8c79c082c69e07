"""What a path on a node or in a container must be."""

from __future__ import annotations

import re

from rcc.recipe.keys import ABSOLUTE


def not_absolute(path: str) -> tuple[str, str] | None:
    """What is wanted in place of the path, and what to do; None for one that will do."""
    if "\n" in path:
        return "a path of one line", "take the line break out"
    if not re.fullmatch(ABSOLUTE, path):
        return "an absolute path without `..`", "write the whole path, from `/`"
    return None
