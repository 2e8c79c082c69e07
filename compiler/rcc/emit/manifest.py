"""`manifest.json`: what a result is made of, and from what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from rcc.diagnostic import Findings, finding
from rcc.lock.model import Lock, file_json
from rcc.lock.write import canonical as readable
from rcc.plan.canonical import canonical, plain
from rcc.plan.model import Model, Plan
from rcc.quick import dataclass
from rcc.source import whole

VERSION = 1
NAME = "manifest.json"
KEY_LENGTH = 32
"""Hex digits of the manifest's hash that name a result in the store."""


@dataclass(frozen=True, slots=True)
class Output:
    """A file of a result. `mode` is `0444` or `0555`, `sha256` hex; `kind` as `Artifact` has it."""

    path: str
    sha256: str
    mode: str
    target: str
    node: str | None
    rank: int | None
    kind: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a result was built from: hashes in hex, `files` by the name that the recipe gives, and the options.

    There is no path of the building machine in it; `bases` are in the order in which they were read.
    """

    recipe: str
    bases: tuple[str, ...]
    cluster: str | None
    lock: str | None
    files: Mapping[str, str]
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest as it was read; `closure` and `unpinned` as JSON has them."""

    build: str
    plan: str
    id: str
    rcc: str
    inputs: Mapping[str, Any]
    closure: Mapping[str, Any]
    unpinned: tuple[Mapping[str, Any], ...]
    outputs: tuple[Output, ...]


def build_hash(outputs: tuple[Output, ...]) -> str:
    """`sha256:` over the outputs: the same artifacts are the same build, whatever they were made from."""
    return "sha256:" + sha256(canonical(plain(outputs))).hexdigest()


def write_manifest(
    plan: Plan, outputs: tuple[Output, ...], inputs: Inputs, rcc_version: str, lock: Lock | None
) -> bytes:
    """The bytes of a manifest: canonical JSON, made to be read and compared."""
    content = {
        "version": VERSION,
        "build": build_hash(outputs),
        "plan": plan.plan,
        "id": plan.id,
        "rcc": rcc_version,
        "inputs": plain(inputs),
        "closure": _closure(plan, lock),
        "unpinned": plain(plan.unpinned),
        "outputs": plain(outputs),
    }
    return readable(content).encode()


def read_manifest(name: str, data: bytes) -> tuple[Manifest | None, Findings]:
    """Reads what `write_manifest` wrote; `name` is for findings."""
    try:
        values = json.loads(data)
        if values["version"] != VERSION:
            message = f"the manifest has version `{values['version']}`, and this rcc reads {VERSION}"
            return None, (finding("RCC1104", message, whole(name), help="use the rcc that built it"),)
        outputs = tuple(Output(**output) for output in values["outputs"])
        unpinned = tuple(values["unpinned"])
        texts = (values["build"], values["plan"], values["id"], values["rcc"])
        return Manifest(*texts, values["inputs"], values["closure"], unpinned, outputs), ()
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        message = f"the manifest is not one that rcc wrote: {type(error).__name__}"
        return None, (finding("RCC1104", message, whole(name), help="build the result again"),)


def key(manifest: bytes) -> str:
    """The hex digits that name a result in the store."""
    return sha256(manifest).hexdigest()[:KEY_LENGTH]


def _closure(plan: Plan, lock: Lock | None) -> dict[str, Any]:
    images = [("engine", plan.image), ("staging", plan.staging_image)]
    return {
        "images": [{"id": id, **plain(image)} for id, image in images if image],
        "models": [{**_model(model), "files": _snapshot(model, lock)} for model in plan.models],
        "staging": [
            {"id": one.id, "rank": rank.rank, "source": one.source, "layout": one.layout, "rows": plain(one.rows)}
            for rank in plan.ranks
            for one in rank.staging
        ],
        "files": [
            {"file": one.file, "sha256": one.sha256, "mode": "0555" if one.executable else "0444"} for one in plan.files
        ],
    }


def _model(model: Model) -> dict[str, Any]:
    return {name: getattr(model, name) for name in ("id", "repo", "commit", "tree", "host_path")}


def _snapshot(model: Model, lock: Lock | None) -> dict[str, Any] | None:
    """The files of a snapshot as the lock lists them; null where no lock does."""
    locked = lock.models.get(model.id) if lock else None
    return {path: file_json(file) for path, file in locked.files.items()} if locked else None
