"""A recipe's id: what files, units and objects are called."""

from __future__ import annotations

import posixpath
import re

ID = r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?"
LONGEST = 40
ID_IN_WORDS = "1 to 40 of `a-z`, `0-9` and `-`, a letter first and no `-` last"
_SUFFIX = ".recipe.toml"


def default_id(name: str) -> str | None:
    """The id of `<name>.recipe.toml` without an `id` key; None where the file has another name or gives no id."""
    base = posixpath.basename(name)
    words = _words(base.removesuffix(_SUFFIX)) if base.endswith(_SUFFIX) else ""
    return words if re.fullmatch(ID, words) else None


def why_none(name: str) -> str:
    """Why such a file gives no id, as the end of a sentence."""
    base = posixpath.basename(name)
    length = len(_words(base.removesuffix(_SUFFIX)))
    if base.endswith(_SUFFIX) and length > LONGEST:
        return f"the one that its file name gives has {length} characters, more than {LONGEST}"
    return "its file name gives none"


def proposed_id(name: str) -> str:
    """An id to propose for a file that gives none: from its name, or from its folder's where it is a `recipe.toml`."""
    folder, base = posixpath.split(name)
    stem = posixpath.basename(folder) if base == "recipe.toml" else base.removesuffix(".toml").removesuffix(".recipe")
    return _words(stem)[:LONGEST].strip("-") or "my-recipe"


def _words(stem: str) -> str:
    stem = re.sub(r"^\d{4}-\d{2}-\d{2}_\d{6}_", "", stem)
    words = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")
    return "r-" + words if words[:1].isdigit() else words
