"""Where a recipe's files lie in a report, and what must be written in them so that they find each other there."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from dataclasses import field

from rcc.pipeline import Loaded
from rcc.quick import dataclass
from rcc.recipe.layers import bases
from rcc.syntax.document import Document
from rcc.syntax.edit import write_string

BASES = "bases"


@dataclass(frozen=True, slots=True)
class Kept:
    """A file of a report: its path there, its bytes, and whether it is a program."""

    path: str
    data: bytes = field(repr=False)
    executable: bool = False


def keep(loaded: Loaded, stem: str) -> tuple[Kept, ...]:
    """Recipe (`<stem>.recipe.toml`), bases, and the files that artifacts carry.

    What lies in the recipe's own folder keeps its place; a base from elsewhere gets a folder below `bases`, with
    what it mounts, and the `extends` that names it is written anew.
    """
    places = _places(loaded, stem)
    documents = [Kept(places[one.source.name], _rewritten(one, places)) for one in loaded.recipe.layers.documents]
    return (*documents, *_carried(loaded, places))


def _places(loaded: Loaded, stem: str) -> dict[str, str]:
    """The report's path of each recipe file, by its name."""
    *below, top = [one.source.name for one in loaded.recipe.layers.documents]
    places = {top: f"{stem}.recipe.toml"}
    for number, name in enumerate(below, 1):
        relative = os.path.relpath(name, os.path.dirname(top) or ".")
        elsewhere = posixpath.join(BASES, str(number), os.path.basename(name))
        places[name] = elsewhere if relative.startswith("..") else relative
    return places


def _rewritten(document: Document, places: dict[str, str]) -> bytes:
    """The file's bytes, where every base is named by its place in the report."""
    text = document.source.text
    here = places[document.source.name]
    for path, stated in reversed(bases(document.values)):
        name = posixpath.normpath(posixpath.join(posixpath.dirname(document.source.name), stated))
        now = posixpath.relpath(places[name], posixpath.dirname(here) or ".")
        if now != posixpath.normpath(stated):
            span = document.place(path).span
            text = f"{text[: span.start]}{write_string(now)}{text[span.end :]}"
    return text.encode()


def _carried(loaded: Loaded, places: dict[str, str]) -> Iterator[Kept]:
    for index, mount in enumerate(loaded.recipe.recipe.extra_mounts):
        one = loaded.carried.get(mount.host.text) if mount.carried else None
        if one is not None:
            origin = loaded.recipe.layers.origin(("extra_mounts", index, "host")).source.name
            yield Kept(posixpath.join(posixpath.dirname(places[origin]), one.file), one.data, one.executable)
