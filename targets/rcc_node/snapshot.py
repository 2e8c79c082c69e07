"""The goal of a snapshot block: the model's files, whole."""

from __future__ import annotations

import hashlib
from typing import Any, BinaryIO

from rcc_node.errors import NodeError
from rcc_node.goal import CHUNK, Goal, StagedFile
from rcc_node.layout import SnapshotFile, selected, snapshot_hash
from rcc_node.plan import Block
from rcc_node.source import Source
from rcc_node.tree import Tree


def goal(block: Block, asked: dict[str, Any], source: Source) -> Goal:
    """What is staged, from the files of the source."""
    tree = Tree(source, block.hf_cache)
    found = [tree.need(name) for name in tree.all() if selected(name, block.include, block.exclude)]
    if not found:
        raise NodeError("source-empty", f"nothing in `{block.src}` is to be staged", "correct `include` and `exclude`")
    here = [SnapshotFile(file.name, file.size, file.blob) for file in found]
    layout = snapshot_hash(_as_locked(block, here))
    if block.layout not in (None, layout):
        raise NodeError(
            "source-changed",
            f"the files in `{block.src}` have the layout {layout}, the lock has {block.layout}",
            "restore the locked snapshot, or run `rcc lock --upgrade-staging` and build again",
        )
    files = (StagedFile(f.name, f.size, None, f.blob, ((0, f.size),) if f.size else ()) for f in found)
    return Goal(asked, layout, None, None, tuple(files))


def _as_locked(block: Block, here: list[SnapshotFile]) -> list[SnapshotFile]:
    """The files with the lock's ids where the cache does not name them; refuses those that are not the lock's."""
    if block.files is None:
        return here
    locked = {file.name: file for file in block.files}
    result = []
    for file in here:
        known = locked.pop(file.name, None)
        if known is None or known.size != file.size or (file.id is not None and known.id not in (None, file.id)):
            raise _changed(block, file.name)
        result.append(known)
    for name in sorted(locked):
        raise _changed(block, name)
    return result


def _changed(block: Block, name: str) -> NodeError:
    return NodeError(
        "source-changed", f"`{block.src}/{name}` is not the locked file", "restore the locked snapshot, then run again"
    )


def unproven(block: Block, goal: Goal) -> dict[str, str]:
    """Ids by name of the locked files whose content the cache's links do not name."""
    locked = {file.name: file.id for file in block.files or ()}
    return {file.name: id for file in goal.files if file.blob is None and (id := locked.get(file.name))}


def is_content(file: BinaryIO, size: int, content_id: str) -> bool:
    """Whether a file's bytes have the id that the lock states."""
    kind, _, expected = content_id.partition(":")
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False) if kind == "git" else hashlib.sha256()
    while data := file.read(CHUNK):
        digest.update(data)
    return digest.hexdigest() == expected
