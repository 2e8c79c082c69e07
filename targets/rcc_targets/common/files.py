"""The files that stand beside an artifact: what a recipe carries, what runs before the engine, what stages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from rcc.emit.model import Artifact
from rcc.plan.canonical import plain
from rcc.plan.model import FileRef, Plan, Rank
from rcc_targets.common.enter import asserts_script, enter_script, late_names, prepare_script
from rcc_targets.common.where import (
    ASSERTS_FILE,
    CARRIED,
    ENGINE_RUNS,
    ENTER_FILE,
    NODE_PART,
    PREPARE_FILE,
    STAGE_FILE,
)


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


def asserts_file(plan: Plan, rank: Rank, folder: str) -> Iterator[Artifact]:
    """A script that looks into the image before anything is started, if there is something to look for."""
    script = asserts_script(rank, plan)
    if script is not None:
        yield Artifact(f"{folder}/{ASSERTS_FILE}", script.encode(), "script", False, rank.node, rank.rank)


def prepare_file(plan: Plan, rank: Rank, folder: str) -> Iterator[Artifact]:
    """What runs before the engine with every `up`, in its image, where nothing runs on the node itself."""
    script = prepare_script(rank, plan, ENGINE_RUNS)
    yield Artifact(f"{folder}/{PREPARE_FILE}", script.encode(), "script", False, rank.node, rank.rank)


def node_part(plan: Plan, rank: Rank, folder: str) -> Iterator[Artifact]:
    """What runs on the node itself (`rcc-node.pyz`), and what it is told."""
    yield Artifact(f"{folder}/{NODE_PART}", _zipapp(), "file", False, rank.node, rank.rank)
    yield Artifact(f"{folder}/{STAGE_FILE}", stage_document(plan, rank), "file", False, rank.node, rank.rank)


@cache
def _zipapp() -> bytes:
    from rcc_node.build import zipapp

    return zipapp()


def stage_document(plan: Plan, rank: Rank) -> bytes:
    """`stage.json`: what `rcc_node.plan` reads, as canonical JSON for one rank."""
    document = {
        "version": 1,
        "id": plan.id,
        "plan": plan.plan,
        "rank": rank.rank,
        "world": plan.group.size,
        "blocks": [_stated({**plain(block), "hf_cache": rank.hf_cache}) for block in rank.staging],
        "preflight": _stated(_preflight(plan, rank)),
    }
    return (json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _stated(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None and value != []}


def _preflight(plan: Plan, rank: Rank) -> dict[str, Any]:
    container = rank.container
    binds = [mount for mount in container.mounts if isinstance(mount.source, str) and mount.source.startswith("/")]
    weights = [model.host_path for model in plan.models if model.host_path]
    return {
        "files": [{"path": mount.source, "sha256": mount.sha256} for mount in binds if mount.sha256],
        "ports": list(rank.ports),
        "paths": [mount.source for mount in binds if mount.kind in ("bind", "hub", "model")],
        "evict": [*weights, *(block.dst for block in rank.staging)] if rank.unified_memory else [],
        "memory": container.memory,
        "unified_memory": rank.unified_memory,
        "gpu": container.gpus is not None,
        "image": container.image,
        "digest": plan.image.digest,
        "gid": {**plain(rank.gid), "needed": bool(late_names(rank))} if rank.gid else None,
    }
