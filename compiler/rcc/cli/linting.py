"""Lints one file as the command line has it: with its bases, its lock, the files that it carries, and a cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from rcc.diagnostic import Finding, Findings, cannot_read, first_ones, has_errors
from rcc.lint.agreement import check_keys
from rcc.lint.check import check_recipe, check_rules
from rcc.lint.kind import kind_of
from rcc.lint.report import finished, sure
from rcc.source import whole

if TYPE_CHECKING:
    from rcc.cluster.model import ClusterFile
    from rcc.lock.model import Lock
    from rcc.recipe.layers import Read
    from rcc.recipe.model import RecipeFile
    from rcc.resolve.model import ResolvedFile


def lint_file(name: str, read: Read, cluster: ClusterFile | None) -> Findings:
    """Everything that is wrong with a file, whichever kind it is of."""
    try:
        data = read(name)
    except OSError as error:
        return (cannot_read(name, error),)
    kind = kind_of(name, data)
    if kind == "recipe":
        return _lint_recipe(name, lambda path: data if path == name else read(path), cluster)
    if kind == "cluster":
        return _lint_cluster(name, data)
    return _lint_lock(name, data) if kind == "lock" else _lint_settings(name)


def _lint_cluster(name: str, data: bytes) -> Findings:
    from rcc.lint.clusters import check_cluster
    from rcc.lint.order import renamed

    document, found = check_cluster(name, data)
    return finished(renamed(found), [document] if document else [], document, cluster=True, lock=False)


def _lint_lock(name: str, data: bytes) -> Findings:
    from rcc.staging.locked import check_layouts

    lock, found = _read_lock(name, data)
    if lock is not None:
        found = (*found, *check_layouts(lock, whole(name, data.decode()).source))
    return finished(found, [], None, cluster=False, lock=True)


@lru_cache(1)
def _read_lock(name: str, data: bytes) -> tuple[Lock | None, Findings]:
    """A lock; in a folder it is linted right before the recipe that it belongs to."""
    from rcc.lock.read import read_lock

    return read_lock(name, data)


def _lint_settings(name: str) -> Findings:
    from rcc.cli.lint_settings import choices_at

    return choices_at(os.path.dirname(os.path.abspath(name)))[1]


def _lint_recipe(name: str, read: Read, cluster: ClusterFile | None) -> Findings:
    checked = check_recipe(name, read)
    found, own = checked.found, checked.document
    if any(one.code == "RCC004" for one in found):
        from rcc.lint.order import renamed

        found = renamed(found)
    if checked.file is None:
        return finished(found, [own] if own else [], own, cluster=False, lock=False)
    lock, more, of_lock = _rules(name, read, checked.file, cluster)
    lost = checked.file.lost | (cluster.lost if cluster else frozenset())
    more = (*of_lock, *sure(more, found, lost | {"lock"} if lock is None and has_errors(of_lock) else lost))
    documents = [*checked.file.layers.documents, *([cluster.document] if cluster and cluster.document else [])]
    return finished((*found, *more), documents, own, cluster=cluster is not None, lock=lock is not None)


def _rules(
    name: str, read: Read, file: RecipeFile, cluster: ClusterFile | None
) -> tuple[Lock | None, Findings, Findings]:
    """The lock beside the recipe, what rules, files and cluster have to say of the recipe, and what the lock has."""
    carried, of_files = _carried(file)
    found = tuple(first_ones(of_files))
    lock, of_lock = _lock(name, file, read, carried)
    if file.lost:
        of_lock = ()
    topology = None
    if cluster is not None:
        from rcc.lint.cluster import chosen_topology

        topology = chosen_topology(cluster.cluster, file.recipe.topology)
    found = (*found, *check_rules(file, lock, cluster, topology, os.path.isfile), *check_keys(file, carried))
    if cluster is not None and _DECIDING.isdisjoint(one.partition(".")[0] for one in file.lost):
        found = (*found, *_resolved(file, cluster, topology, None if has_errors(of_lock) else lock, carried))
    return lock, found, of_lock


# Without these nothing can be said of how the recipe would run.
_DECIDING = frozenset(("engine", "model", "models", "required_nodes"))


def _carried(file: RecipeFile) -> tuple[Mapping[str, ResolvedFile], Findings]:
    """The files beside the recipe that it mounts."""
    if not any(mount.carried for mount in file.recipe.extra_mounts):
        return {}, ()
    from rcc.cli.files import Disk
    from rcc.pipeline import read_carried

    return read_carried(file, Disk())


def _lock(name: str, file: RecipeFile, read: Read, carried: Mapping[str, ResolvedFile]) -> tuple[Lock | None, Findings]:
    """The lock beside the recipe, and where the two differ."""
    path = name.removesuffix(".toml") + ".lock"
    if not os.path.lexists(path):
        return None, ()
    from rcc.lock.asked import wanted_by
    from rcc.lock.stale import stale_findings
    from rcc.lock.wanted import WantedFile

    try:
        data = read(path)
    except OSError as error:
        return None, (cannot_read(path, error),)
    wanted, found = wanted_by(file, [WantedFile(one.file, one.sha256, one.executable) for one in carried.values()])
    lock, of_lock = _read_lock(path, data)
    if lock is None or wanted is None:
        return lock, (*found, *of_lock)
    return lock, (*found, *of_lock, *stale_findings(wanted, lock, whole(path, data.decode()).source))


def _resolved(
    file: RecipeFile, cluster: ClusterFile, topology: str | None, lock: Lock | None, carried: Mapping[str, ResolvedFile]
) -> tuple[Finding, ...]:
    """What stands against running the recipe on the cluster."""
    from rcc.engines.registry import BUILT_IN
    from rcc.lock.asked import wanted_by
    from rcc.resolve.model import Options, ResolvedFile
    from rcc.resolve.resolve import resolve

    # What the rules have said already: an image that is none, and an engine that only a plug-in may have.
    if wanted_by(file)[0] is None or file.recipe.engine not in BUILT_IN:
        return ()
    missing = {one.host.text for one in file.recipe.extra_mounts if one.carried} - carried.keys()
    stand_ins = {name: ResolvedFile(name, "0" * 64, False, b"") for name in missing}
    resolved, found = resolve(file, cluster, lock, Options(), {**carried, **stand_ins})
    if resolved and all(rank.needs_gid for rank in resolved.ranks):
        from rcc.lint.context import Context
        from rcc.lint.nccl import check_dead_with_gid

        found = (*found, *check_dead_with_gid(Context(file, lock, cluster, topology).variables))
    return found
