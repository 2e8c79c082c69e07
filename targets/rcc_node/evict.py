"""Drops what the page cache holds of a model: on unified memory the GPU cannot have those pages."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rcc_node.errors import NodeError
from rcc_node.place import OURS
from rcc_node.plan import Plan
from rcc_node.source import Source, opened


def evict(plan: Plan) -> int:
    """Drops the cached pages of every `src`, every `dst` and the folders named by the plan; the number of files."""
    folders = {*plan.preflight.evict, *(folder for block in plan.blocks for folder in (block.src, block.dst))}
    return sum(_evict(folder) for folder in sorted(folders))


def _evict(folder: str) -> int:
    # Any of them may lie on a NAS that is dead: all are asked through the child with the deadline.
    count = 0
    with opened(folder) as source:
        for path in _files(source, folder):
            source.drop(path)
            count += 1
    return count


def _files(source: Source, folder: str) -> Iterator[str]:
    try:
        entries = source.list(folder)
    except NodeError as error:
        if error.name == "source-missing":
            return
        raise
    for name, is_folder in entries:
        path = os.path.join(folder, name)
        if is_folder and name != OURS:
            yield from _files(source, path)
        elif not is_folder and source.stat(path).kind == "file":
            yield path
