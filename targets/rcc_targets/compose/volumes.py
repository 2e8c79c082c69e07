"""Binds of a compose file, in the long form that no version splits at colons."""

from __future__ import annotations

from collections.abc import Iterator

from rcc.plan.model import FileRef, Mount, Rank
from rcc.quick import dataclass
from rcc_targets.common.enter import pinned_mounts
from rcc_targets.common.files import carried_path
from rcc_targets.common.where import (
    ENGINE_RUNS,
    ENTER,
    ENTER_FILE,
    NODE_PART,
    PREPARE,
    PREPARE_FILE,
    PYZ,
    RUNNING,
    SECRETS,
    STAGE,
    STAGE_FILE,
)

SECRETS_FOLDER = "~/.config/rcc/secrets"
RUNNING_VOLUME = "running"
MADE = ("cache", "staged")
"""The kinds of mounts whose folder is made where it is missing."""


@dataclass(frozen=True, slots=True)
class Volume:
    """A bind; with `create`, docker makes a source that is not there. One that is `named` is a volume of docker's."""

    source: str
    target: str
    read_only: bool = True
    create: bool = False
    named: bool = False


def is_told(rank: Rank) -> bool:
    """Whether the checks before a start must know if the engine runs, which then has what they ask for.

    They are run again with every `up`, and one container cannot see another. But a tmpfs that both mount is there as
    long as one of the two runs, and mounting something into it leaves a file there: the engine's container does.
    """
    return bool(rank.ports) or rank.container.memory is not None


def _running() -> Volume:
    return Volume(RUNNING_VOLUME, RUNNING, read_only=False, named=True)


def of_engine(rank: Rank) -> Iterator[Volume]:
    """What the engine sees of the node."""
    yield from map(_mounted, rank.container.mounts)
    if rank.container.enter is not None:
        yield _file(ENTER_FILE, ENTER)
    if rank.container.secrets:
        yield Volume(SECRETS_FOLDER, SECRETS, create=True)
    if is_told(rank):
        yield _running()
        yield _file(PREPARE_FILE, ENGINE_RUNS)


def of_prepare(rank: Rank) -> Iterator[Volume]:
    """What the checks before the start look at."""
    yield _file(PREPARE_FILE, PREPARE)
    yield from map(_mounted, pinned_mounts(rank))
    yield from (_mounted(mount) for mount in rank.container.mounts if mount.kind == "cache")
    if is_told(rank):
        yield _running()


def of_stage(rank: Rank) -> Iterator[Volume]:
    """What staging reads and writes, under the node's own paths."""
    yield _file(NODE_PART, PYZ)
    yield _file(STAGE_FILE, STAGE)
    yield from (Volume(source, source) for source in _sources(rank))
    yield from (Volume(block.dst, block.dst, read_only=False, create=True) for block in rank.staging)


def _sources(rank: Rank) -> list[str]:
    """The cache's `hub/` for what lies below it, since its files are links within it; else the source itself."""
    hub = f"{rank.hf_cache}/hub"
    below = {hub if (block.src + "/").startswith(hub + "/") else block.src for block in rank.staging}
    return sorted(below)


def _mounted(mount: Mount) -> Volume:
    create = mount.kind in MADE
    if isinstance(mount.source, FileRef):
        return _file(carried_path(mount.source), mount.target, read_only=mount.read_only)
    return Volume(mount.source, mount.target, mount.read_only, create)


def _file(name: str, target: str, *, read_only: bool = True) -> Volume:
    return Volume(f"./files/{name}", target, read_only)
