"""Every mount of a rank's container."""

from __future__ import annotations

from rcc.plan.model import FileRef, Mount, MountKind
from rcc.resolve.model import Resolved, ResolvedFile, ResolvedMount, ResolvedRank
from rcc.resolve.models import CACHE, HUB, MODELS, STAGED, needs_cache, needs_hub, served


def mounts_of(resolved: Resolved, rank: ResolvedRank) -> tuple[Mount, ...]:
    """The recipe's mounts in its order, then the models, then the node's cache."""
    staged = {block.dst for block in rank.staging}
    own = [_own(mount, staged) for mount in rank.mounts]
    return (*own, *_models(resolved, rank), *_cache(resolved, rank))


def _own(mount: ResolvedMount, staged: set[str]) -> Mount:
    if isinstance(mount.source, ResolvedFile):
        return Mount(FileRef(mount.source.file, mount.source.sha256), mount.target, mount.read_only, "file")
    kind: MountKind = "staged" if mount.source in staged else "bind"
    return Mount(mount.source, mount.target, mount.read_only, kind, mount.sha256)


def _models(resolved: Resolved, rank: ResolvedRank) -> list[Mount]:
    """Models by path, staged snapshots, and the cache's whole `hub/`: its links lead from one part to another."""
    mounts = []
    for model in resolved.models:
        block = served(model, rank.staging)
        if model.is_path:
            mounts.append(Mount(model.repo, f"{MODELS}/{model.id}", True, "model"))
        elif block is not None:
            mounts.append(Mount(block.dst, f"{STAGED}/{block.id}", True, "staged"))
    if needs_hub(resolved.models, rank.staging):
        mounts.append(Mount(f"{rank.hf_cache}/hub", HUB, True, "hub"))
    return mounts


def _cache(resolved: Resolved, rank: ResolvedRank) -> list[Mount]:
    """The folder for compile caches: the node's own, never the shared one, which ranks would spoil for each other."""
    if not needs_cache(resolved.engine, resolved.models):
        return []
    return [Mount(rank.cache_dir, CACHE, False, "cache")]
