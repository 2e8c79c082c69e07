"""Targets' artifacts and their manifest as one value: what a build gives, before it is on any disk."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import field
from hashlib import sha256

from rcc.diagnostic import Finding, Findings, finding, has_errors
from rcc.emit.manifest import NAME, Inputs, Output, build_hash, key, write_manifest
from rcc.emit.model import Artifact
from rcc.emit.registry import Chosen
from rcc.lock.model import Lock
from rcc.plan.model import Plan
from rcc.quick import dataclass

FILE, PROGRAM = "0444", "0555"


@dataclass(frozen=True, slots=True)
class File:
    """A file as it will lie on disk; `mode` is `0444` or `0555`."""

    path: str
    mode: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Bundle:
    """All files of a result, the manifest first; `name` is what the store calls it."""

    name: str
    id: str
    build: str
    files: tuple[File, ...]

    @property
    def manifest(self) -> bytes:
        """The bytes of `manifest.json`."""
        return self.files[0].data


def emit_all(plan: Plan, targets: Iterable[Chosen]) -> tuple[dict[str, tuple[Artifact, ...]] | None, Findings]:
    """Every target's artifacts by its name; none at all where one of them has an error."""
    artifacts: dict[str, tuple[Artifact, ...]] = {}
    found: list[Finding] = []
    for chosen in targets:
        emitted, more = chosen.emit(plan)
        found.extend(more)
        found.extend(_misplaced(chosen.name, emitted))
        artifacts[chosen.name] = emitted
    return (None if has_errors(found) else artifacts), tuple(found)


def bundle(
    plan: Plan, artifacts: dict[str, tuple[Artifact, ...]], inputs: Inputs, rcc_version: str, lock: Lock | None = None
) -> Bundle:
    """Artifacts by target, with the manifest over them."""
    pairs = sorted(((one, target) for target, made in artifacts.items() for one in made), key=lambda pair: pair[0].path)
    outputs = tuple(_output(one, target) for one, target in pairs)
    manifest = write_manifest(plan, outputs, inputs, rcc_version, lock)
    files = tuple(File(one.path, _mode(one), one.data) for one, _ in pairs)
    return Bundle(f"{key(manifest)}-{plan.id}", plan.id, build_hash(outputs), (File(NAME, FILE, manifest), *files))


def _output(one: Artifact, target: str) -> Output:
    return Output(one.path, sha256(one.data).hexdigest(), _mode(one), target, one.node, one.rank, one.kind)


def _mode(one: Artifact) -> str:
    return PROGRAM if one.executable else FILE


def _misplaced(target: str, artifacts: tuple[Artifact, ...]) -> Iterator[Finding]:
    """A target, built in or not, writes below its own folder, each file once."""
    paths = [one.path for one in artifacts]
    folders = {folder for path in paths for folder in _parents(path)}
    for path in sorted(set(paths)):
        if not _is_below(path, target):
            yield finding("RCC1093", f"the target `{target}` gave a file outside of its folder: `{path}`")
        if paths.count(path) > 1 or path in folders:
            yield finding("RCC1093", f"the target `{target}` gave two files for one path: `{path}`")


def _is_below(path: str, folder: str) -> bool:
    clean = path == posixpath.normpath(path) and "\\" not in path and "\0" not in path
    return clean and path.startswith(f"{folder}/")


def _parents(path: str) -> Iterator[str]:
    while path := posixpath.dirname(path):
        yield path
