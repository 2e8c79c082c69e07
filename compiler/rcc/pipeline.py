"""The passes, in order."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from typing import Protocol

from rcc.cluster.model import ClusterFile
from rcc.cluster.read import localhost, read_cluster
from rcc.diagnostic import Finding, Findings, cannot_read, finding, has_errors, in_order
from rcc.engines.registry import EngineError
from rcc.lock.asked import wanted_by
from rcc.lock.model import Lock
from rcc.lock.read import read_lock
from rcc.lock.stale import stale_findings
from rcc.lock.wanted import WantedFile
from rcc.plan.lower import lower
from rcc.plan.model import Plan
from rcc.plan.origins import Origins
from rcc.quick import dataclass, replace
from rcc.recipe.model import RecipeFile
from rcc.recipe.read import read_recipe
from rcc.resolve.model import Options, Resolved, ResolvedFile
from rcc.resolve.nodes import EXAMPLE_CLUSTER
from rcc.resolve.resolve import resolve
from rcc.source import whole
from rcc.staging.locked import check_layouts


@dataclass(frozen=True, slots=True)
class CarriedSource:
    """A file beside a recipe as it is now."""

    data: bytes = field(repr=False)
    executable: bool


class CarriedError(Exception):
    """A file beside a recipe that artifacts cannot carry, and why."""


class Files(Protocol):
    """The only door to the disk."""

    def read(self, path: str) -> bytes:
        """A file's bytes; raises OSError."""

    def carried(self, folder: str, relative: str) -> CarriedSource:
        """A file in the recipe's own folder; raises CarriedError for one that leads out of it, is none or is large."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Paths as the user gave them; without a cluster the built-in one of this machine serves, where it can."""

    recipe: str
    cluster: str | None = None
    lock: str | None = None


@dataclass(frozen=True, slots=True)
class Loaded:
    """Everything that a plan is made of. `read` is the sha256 (hex) of every file that was read, by its path."""

    recipe: RecipeFile
    cluster: ClusterFile
    lock: Lock | None
    carried: Mapping[str, ResolvedFile]
    read: Mapping[str, str]


class _Recorder:
    """Reads files and remembers their hashes."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.hashes: dict[str, str] = {}

    def read(self, path: str) -> bytes:
        data = self._files.read(path)
        self.hashes[path] = sha256(data).hexdigest()
        return data


def load(inputs: Inputs, options: Options, files: Files) -> tuple[Loaded | None, Findings]:
    """Reads recipe, bases, carried files, cluster and lock."""
    recorder = _Recorder(files)
    recipe, found = read_recipe(inputs.recipe, recorder.read, options.id)
    cluster, of_cluster = _cluster(inputs, recipe, recorder)
    found = (*found, *of_cluster)
    if recipe is None or cluster is None:
        return None, in_order(found)
    carried, of_files = read_carried(recipe, files)
    beside = posixpath.dirname(recipe.layers.origin(("extra_mounts",)).source.name)
    for name, one in carried.items():
        recorder.hashes[posixpath.join(beside, name)] = one.sha256
    lock, of_lock = _lock(inputs, options, recipe, carried, recorder)
    found = in_order((*found, *of_files, *of_lock))
    if has_errors(found):
        return None, found
    return Loaded(recipe, cluster, lock, carried, recorder.hashes), found


def _cluster(inputs: Inputs, recipe: RecipeFile | None, recorder: _Recorder) -> tuple[ClusterFile | None, Findings]:
    if inputs.cluster is not None:
        try:
            return read_cluster(inputs.cluster, recorder.read(inputs.cluster))
        except OSError as error:
            return None, (cannot_read(inputs.cluster, error),)
    if recipe is None:
        return None, ()
    on_hub = [one for one in (recipe.recipe.model, *(x.model for x in recipe.recipe.models)) if one and one[0] != "/"]
    if recipe.recipe.required_nodes == 1 and not on_hub:
        return localhost(), ()
    key = "model" if on_hub and recipe.recipe.required_nodes == 1 else "required_nodes"
    help = f"name one with `--cluster`, or put a `cluster.toml` beside the recipe; to start from:\n\n{EXAMPLE_CLUSTER}"
    return None, (
        finding("RCC905", "this recipe needs a cluster file, and none was found", recipe.place((key,)), help=help),
    )


def read_carried(recipe: RecipeFile, files: Files) -> tuple[dict[str, ResolvedFile], Findings]:
    """The files that the recipe mounts by a relative path, by that path."""
    carried: dict[str, ResolvedFile] = {}
    found: list[Finding] = []
    for index, mount in enumerate(recipe.recipe.extra_mounts):
        if not mount.carried:
            continue
        path = ("extra_mounts", index, "host")
        folder = posixpath.dirname(recipe.layers.origin(path).source.name)
        try:
            source = files.carried(folder, mount.host.text)
        except CarriedError as error:
            help = "a relative `host` is a regular file of at most 1 MiB in the recipe's own folder"
            if "$" in mount.host.text:
                help = "nothing expands variables here: write the whole path, or a template such as `{{ vars.home }}`"
            message = f"`{mount.host.text}` cannot be carried: {error}"
            found.append(finding("RCC701", message, recipe.place(path), help=help))
            continue
        digest = sha256(source.data).hexdigest()
        name = posixpath.normpath(mount.host.text)
        carried[mount.host.text] = ResolvedFile(name, digest, source.executable, source.data)
    return carried, tuple(found)


def _lock(
    inputs: Inputs, options: Options, recipe: RecipeFile, carried: Mapping[str, ResolvedFile], recorder: _Recorder
) -> tuple[Lock | None, Findings]:
    wanted, found = wanted_by(recipe, (WantedFile(one.file, one.sha256, one.executable) for one in carried.values()))
    if wanted is None or inputs.lock is None:
        return None, found
    try:
        data = recorder.read(inputs.lock)
    except OSError as error:
        return None, (cannot_read(inputs.lock, error),)
    lock, of_lock = read_lock(inputs.lock, data)
    if lock is None:
        return None, of_lock
    text = whole(inputs.lock, data.decode()).source
    of_lock = (*of_lock, *check_layouts(lock, text))
    return lock, of_lock if options.frozen else (*of_lock, *stale_findings(wanted, lock, text))


def make_plan(loaded: Loaded, options: Options) -> tuple[Plan | None, Findings]:
    """The plan, and everything that stands against it."""
    resolved, found = make_resolved(loaded, options)
    if resolved is None:
        return None, found
    try:
        plan = lower(resolved)
    except EngineError as error:
        return None, (*found, finding(error.code, str(error), loaded.recipe.place(("engine",)), help=error.help))
    if options.locked and plan.unpinned:
        return None, (*found, *_not_pinned(loaded, plan))
    return plan, found


def _not_pinned(loaded: Loaded, plan: Plan) -> Findings:
    from rcc.emit.grade import step

    steps = [step(plan, one, loaded.recipe.layers.top.source.name) for one in plan.unpinned]
    return tuple(finding("RCC618", f"{one.kind} `{one.id}` is not pinned: {one.why}", help=one.help) for one in steps)


def placed(found: Findings, plan: Plan, loaded: Loaded, options: Options) -> Findings:
    """What targets have found in a plan, each where the value that it is about stands."""
    if not any(one.about for one in found):
        return found
    resolved, _ = make_resolved(loaded, options)
    assert resolved is not None, "there is a plan of it"
    origins = Origins(plan, resolved, loaded.recipe, loaded.cluster)
    return in_order(replace(one, place=one.place or origins.find(one.about), about=()) for one in found)


def make_resolved(loaded: Loaded, options: Options) -> tuple[Resolved | None, Findings]:
    """The pass before the plan, for those who look into it."""
    return resolve(loaded.recipe, loaded.cluster, loaded.lock, options, loaded.carried)


__all__ = [
    "CarriedError",
    "CarriedSource",
    "Files",
    "Inputs",
    "Loaded",
    "Options",
    "load",
    "make_plan",
    "make_resolved",
    "placed",
    "read_carried",
]
