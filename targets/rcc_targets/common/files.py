"""The files that stand beside an artifact: what a recipe carries, what runs before the engine, what stages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from rcc.emit.model import Artifact
from rcc.plan.canonical import plain
from rcc.plan.model import FileRef, Plan, Rank
from rcc_targets.common.enter import enter_script
from rcc_targets.common.where import CARRIED, ENTER_FILE, NODE_PART, STAGE_FILE

_OF_THE_NODE = (
    "rank", "node", "arch", "gpus", "unified_memory", "hf_cache", "cache_dir", "ports", "gid", "asserts", "staging",
)  # fmt: skip


def carried_path(reference: FileRef) -> str:
    """Where a carried file lies below an artifact's `files` folder."""
    return f"{CARRIED}/{reference.file}"


def carried_files(plan: Plan, rank: Rank, folder: str) -> Iterator[Artifact]:
    """The carried files that a rank mounts, below `folder`."""
    mounted = {mount.source.file for mount in rank.container.mounts if isinstance(mount.source, FileRef)}
    for file in plan.files:
        if file.file in mounted:
            path = f"{folder}/{CARRIED}/{file.file}"
            yield Artifact(path, file.data, "file", file.executable, rank.node, rank.rank)


def enter_file(plan: Plan, rank: Rank, folder: str) -> Iterator[Artifact]:
    """The `enter` script of a rank, if it has one."""
    script = enter_script(rank, plan)
    if script is not None:
        yield Artifact(f"{folder}/{ENTER_FILE}", script.encode(), "script", False, rank.node, rank.rank)


def node_part(plan: Plan, rank: Rank, folder: str) -> Iterator[Artifact]:
    """What runs on the node itself (`rcc-node.pyz`), and what it is told."""
    from rcc_node.build import zipapp

    yield Artifact(f"{folder}/{NODE_PART}", zipapp(), "file", False, rank.node, rank.rank)
    told = stage_document(plan, (rank,))
    yield Artifact(f"{folder}/{STAGE_FILE}", told, "file", False, rank.node, rank.rank)


def stage_document(plan: Plan, ranks: Iterable[Rank]) -> bytes:
    """`stage.json`: the part of the plan that `rcc-node.pyz` reads, under the plan's own names.

    `{"id", "plan", "group": {"size"}, "ranks": [{"rank", "node", "arch", "gpus", "unified_memory", "hf_cache",
    "cache_dir", "ports", "gid", "asserts", "staging", "container": {"name", "image", "memory", "mounts"}}]}`.
    """
    document = {
        "id": plan.id,
        "plan": plan.plan,
        "group": {"size": plan.group.size},
        "ranks": [_of_rank(rank) for rank in ranks],
    }
    return (json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _of_rank(rank: Rank) -> dict[str, Any]:
    whole = plain(rank)
    container = {name: whole["container"][name] for name in ("name", "image", "memory", "mounts")}
    return {**{name: whole[name] for name in _OF_THE_NODE}, "container": container}
