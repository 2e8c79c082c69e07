"""The script that stands before an engine where something is known, or can be checked, only inside the container."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from posixpath import join, relpath

from jinja2 import Environment

import rcc_node
from rcc.plan.model import Mount, Plan, Rank, Staging
from rcc.quick import dataclass
from rcc_node.terms import rows_text
from rcc_targets.common.encode import comment, identifier, sh
from rcc_targets.common.render import Encoded, Encoder, environment
from rcc_targets.common.where import SECRETS

_PARTS = Path(rcc_node.__file__).parent / "enter"


@dataclass(frozen=True, slots=True)
class Stamp:
    """A staged folder as the container sees it, and the line that its stamp must be: a pattern of `sh`."""

    id: str
    folder: str
    line: str


def enter_script(rank: Rank, plan: Plan) -> str | None:
    """The text of `enter` for one rank; None where nothing stands before the engine."""
    if rank.container.enter is None:
        return None
    return (
        _environment()
        .get_template("enter.sh.j2")
        .render(
            id=plan.id,
            rank=rank,
            stamps=stamps(rank, plan),
            late=late_names(rank),
            secrets=SECRETS,
            duties=tuple(_duties(rank, plan)),
        )
    )


def late_names(rank: Rank) -> list[str]:
    """Variables of the recipe that get the GID index; NCCL's own goes without saying."""
    return sorted(set(rank.container.late_env) - {"NCCL_IB_GID_INDEX"})


def prepare_script(rank: Rank, plan: Plan, running: str | None = None) -> str:
    """What must be true for a start, as far as a container without Python can tell; run before the engine.

    `running` is a file that is there while the engine runs, where that can be.
    """
    pinned = pinned_mounts(rank)
    cache = next((mount.target for mount in rank.container.mounts if mount.kind == "cache"), None)
    return (
        _environment()
        .get_template("prepare.sh.j2")
        .render(
            id=plan.id,
            rank=rank,
            pinned=pinned,
            cache=cache,
            running=running,
            needs=", ".join(
                ["", *(["sha256sum"] if pinned else []), *(["chown"] if cache and rank.container.user else [])]
            ),
            meminfo="MemFree" if rank.unified_memory else "MemAvailable",
        )
    )


def pinned_mounts(rank: Rank) -> tuple[Mount, ...]:
    """Files of the node whose hash the recipe states."""
    return tuple(mount for mount in rank.container.mounts if mount.sha256 is not None)


def asserts_script(rank: Rank, plan: Plan) -> str | None:
    """A script that only looks into the image; None where nothing is asserted."""
    if not rank.asserts:
        return None
    return _environment().get_template("asserts.sh.j2").render(id=plan.id, rank=rank)


def stamps(rank: Rank, plan: Plan) -> tuple[Stamp, ...]:
    """What the stamps of a rank's staged folders must be, for those that its container mounts."""
    found = []
    for block in rank.staging:
        folder = _inside(rank, block.dst)
        if folder is not None:
            found.append(Stamp(block.id, folder, _stamp_line(block, plan.group.size, rank.rank)))
    return tuple(found)


def _inside(rank: Rank, path: str) -> str | None:
    """Where the container has a path of the node, through the mount that is nearest to it."""
    sources = [
        mount
        for mount in rank.container.mounts
        if isinstance(mount.source, str) and (path + "/").startswith(mount.source.rstrip("/") + "/")
    ]
    if not sources:
        return None
    nearest = max(sources, key=lambda mount: len(str(mount.source)))
    below = relpath(path, str(nearest.source))
    return nearest.target if below == "." else join(nearest.target, below)


def _stamp_line(block: Staging, world: int, rank: int) -> str:
    if block.layout is None:
        return f"* {world} {rank} *"
    return f"{block.layout} {world} {rank} {rows_text(block.rows or {})}"


def _duties(rank: Rank, plan: Plan) -> Iterator[str]:
    if rank.asserts:
        yield "asserts that the image is the one that is meant"
    if stamps(rank, plan):
        yield "compares the stamps of staged rows with those of this rank"
    if rank.container.secrets:
        yield "takes secrets from the environment or from files"
    if rank.gid:
        yield "finds the index of this node's RoCE GID"


@cache
def _environment() -> Environment:
    filters: dict[str, Encoder] = {
        "sh": sh,
        "comment": comment,
        "part": _part,
        "identifier": identifier,
    }
    return environment(Path(__file__).parent, filters)


def _part(name: str) -> Encoded:
    return Encoded((_PARTS / f"{name}.sh").read_text(encoding="utf-8").rstrip("\n"))
