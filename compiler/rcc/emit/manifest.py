"""`manifest.json`: what a result is made of, and from what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from rcc.diagnostic import Findings, finding
from rcc.emit.stored import parse_stored, typed
from rcc.lock.model import Lock, file_json
from rcc.lock.shapes import digest, hex_digest, natural, path_key
from rcc.lock.write import canonical as readable
from rcc.plan.canonical import canonical, plain
from rcc.plan.model import Model, Plan
from rcc.quick import dataclass
from rcc.recipe.shape import Problems, Shape, array, choice, free, mapping, nullable, record, string
from rcc.source import Path, whole

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
    values, why = parse_stored(data)
    version = values.get("version", VERSION) if isinstance(values, dict) else VERSION
    if version != VERSION:
        message = f"the manifest has version `{version}`, and this rcc reads {VERSION}"
        return None, (finding("RCC1104", message, whole(name), help="use the rcc that built it"),)
    manifest, why = (None, why) if why else typed(values, _MANIFEST)
    if why:
        message = f"the manifest is not one that rcc wrote: {why}"
        return None, (finding("RCC1104", message, whole(name), help="build the result again"),)
    return manifest, ()


_text = string()


def _record(make: Callable[..., Any], **fields: Shape) -> Shape:
    """A record whose fields are all there."""
    return record(make, fields, tuple(fields))


def _as_it_is(shape: Shape) -> Shape:
    """A shape that leaves what fits as JSON has it."""

    def checked(value: Any, path: Path, problems: Problems) -> Any:
        shape(value, path, problems)
        return value

    return checked


_FILE = record(dict, {"size": natural, "sha256": hex_digest, "git-sha1": _text}, ("size",))
_CLOSURE = _record(
    dict,
    images=array(_record(dict, id=_text, reference=_text, digest=nullable(digest))),
    models=array(
        _record(
            dict,
            id=_text,
            repo=_text,
            commit=nullable(_text),
            tree=nullable(digest),
            host_path=nullable(_text),
            files=nullable(mapping(_FILE, path_key)),
        )
    ),
    staging=array(
        _record(
            dict, id=_text, rank=natural, source=nullable(_text), layout=nullable(digest), rows=nullable(mapping(free))
        )
    ),
    files=array(_record(dict, file=path_key, sha256=hex_digest, mode=_text)),
)
_OUTPUT = _record(
    Output,
    path=path_key,
    sha256=hex_digest,
    mode=choice("0444", "0555"),
    target=_text,
    node=nullable(_text),
    rank=nullable(natural),
    kind=_text,
)
_MANIFEST = _record(
    lambda version, **fields: Manifest(**fields),
    version=natural,
    build=digest,
    plan=digest,
    id=_text,
    rcc=_text,
    inputs=mapping(free),
    closure=_as_it_is(_CLOSURE),
    unpinned=array(mapping(_text)),
    outputs=array(_OUTPUT),
)


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
