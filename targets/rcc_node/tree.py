"""The files of a snapshot: where their links end, and what the cache says their content is."""

from __future__ import annotations

import os
import re

from rcc_node.errors import NodeError
from rcc_node.place import OURS
from rcc_node.quick import dataclass
from rcc_node.source import Entry, Source


@dataclass(frozen=True, slots=True)
class Found:
    """A file: its name in the snapshot, its path, bytes, and the id of its content where the cache names it."""

    name: str
    path: str
    size: int
    blob: str | None


class Tree:
    """A snapshot's folder. Links may lead anywhere in `hf_cache`, where one is stated."""

    def __init__(self, source: Source, hf_cache: str | None) -> None:
        self._source = source
        self._cache = source.stat(hf_cache).real if hf_cache else None
        self._found: dict[str, Found] = {}
        root = source.stat(source.root)
        if root.kind != "folder":
            raise NodeError("source-missing", f"`{source.root}` is no folder", "name the snapshot's folder as `src`")
        self.real = root.real

    def names(self, folder: str = "") -> list[tuple[str, bool]]:
        """Names in a folder of the snapshot, sorted, and whether each is a folder."""
        return self._source.list(f"{self._source.root}/{folder}")

    def all(self, folder: str = "") -> list[str]:
        """Names of all files, folders below included."""
        found: list[str] = []
        for name, is_folder in self.names(folder):
            path = f"{folder}/{name}" if folder else name
            found.extend(self.all(path) if is_folder else [path])
        return found

    def find(self, name: str) -> Found | None:
        """A file, None where there is none of that name."""
        try:
            return self.need(name)
        except NodeError as error:
            if error.name == "source-missing":
                return None
            raise

    def need(self, name: str) -> Found:
        """A file that must be there."""
        _check_name(name)
        path = f"{self._source.root}/{name}"
        entry = self._source.stat(path)
        if entry.kind != "file":
            raise NodeError("source-unreadable", f"`{path}` is no regular file", "fetch the snapshot again")
        if self._cache and os.path.commonpath((entry.real, self._cache)) != self._cache:
            raise NodeError(
                "source-outside",
                f"`{path}` is a link to `{entry.real}`, outside of `{self._cache}`",
                "fetch the snapshot again: its files belong into the cache",
            )
        self._found[name] = Found(name, path, entry.size, _blob(entry))
        return self._found[name]

    def blob(self, name: str) -> str | None:
        return self._found[name].blob

    def whole(self, file: Found, limit: int) -> bytes:
        """A small file's bytes."""
        if file.size > limit:
            raise NodeError(
                "source-unreadable", f"`{file.path}` has {file.size} bytes, over {limit}", "fetch the file again"
            )
        return self._source.small(file.path, file.size)


def _check_name(name: str) -> None:
    """Refuses a name that no manifest can state, or that would take the place of what rcc keeps in `dst`."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise NodeError(
            "source-name", f"the file name {name!r} is not UTF-8", "rename the file, or leave it out with `exclude`"
        ) from error
    if name.split("/")[0] == OURS:
        raise NodeError(
            "source-name", f"the snapshot has a file `{name}`, and `{OURS}` is rcc's own", "leave it out with `exclude`"
        )


def _blob(entry: Entry) -> str | None:
    # A snapshot's entry is a link to a blob, named by sha256 (LFS, Xet) or by git's sha1. A further hop may follow.
    *folders, name = (entry.link or "").split("/")
    if "blobs" not in folders:
        return None
    if re.fullmatch("[0-9a-f]{64}", name):
        return f"sha256:{name}"
    return f"git:{name}" if re.fullmatch("[0-9a-f]{40}", name) else None
