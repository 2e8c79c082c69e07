"""What each field of a lock may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rcc.lock.model import (
    Blob,
    FileId,
    Lock,
    LockedFile,
    LockedImage,
    LockedModel,
    LockedStaging,
    Platform,
    Shard,
    Tensor,
)
from rcc.lock.wanted import IMAGES, StagingRequest
from rcc.recipe.identity import ID
from rcc.recipe.reference import BadReference, parse_reference
from rcc.recipe.shape import Problem, Problems, Shape, array, choice, dotted, integer, mapping, nullable, record, string
from rcc.source import Path

HEX = r"[0-9a-f]{64}"
RELATIVE = r"(?!\.{1,2}(/|$))[^/\0]+(/(?!\.{1,2}(/|$))[^/\0]+)*"
REPO = r"[^/@\s]+/[^/@\s]+"

digest = string(f"sha256:{HEX}", "`sha256:` and 64 hex digits")
hex_digest = string(HEX, "64 hex digits")
commit = string(r"[0-9a-f]{40}", "a commit, 40 hex digits")
repo = string(REPO, "a repository as `org/name`")
path_key = string(RELATIVE, "a relative path without `..`")
layer = string(r"0|[1-9][0-9]*", "a layer's number")
some_text = string(r"[^\0]+", "some text")
natural = integer(0)
id_key = string(ID, "an id")


def _open(make: Callable[..., Any], fields: Mapping[str, Shape], required: tuple[str, ...] = ()) -> Shape:
    """A record that passes over fields it does not know: those of a newer revision."""
    closed = record(make, fields, required)

    def shape(value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is dict:
            value = {name: one for name, one in value.items() if name in fields}
        return closed(value, path, problems)

    return shape


Record = Callable[[Callable[..., Any], Mapping[str, Shape], tuple[str, ...]], Shape]


def lock_shape(newer: bool) -> Shape:
    """The shape of a whole lock; one of a newer revision may hold fields that are not known here."""
    make: Record = _open if newer else record
    files = mapping(_file_id(make), path_key)
    model = _entry(
        make,
        LockedModel,
        {"repo": repo, "revision": some_text},
        {"commit": commit, "files": files, "tree": digest},
    )
    fields = {
        "version": integer(1, 1),
        "revision": integer(1),
        "images": mapping(_image(make), choice(*IMAGES)),
        "models": mapping(model, id_key),
        "staging": mapping(_staging(make, files), id_key),
        "files": mapping(_carried(make), path_key),
    }
    return make(_lock, fields, tuple(fields))


def _lock(version: int, revision: int, **sections: Any) -> Lock:
    return Lock(**sections)


def _entry(
    make: Record, build: Callable[..., Any], original: Mapping[str, Shape], locked: Mapping[str, Shape]
) -> Shape:
    """An entry: what was asked beside the answer, every field required."""
    halves = {"original": make(dict, original, tuple(original)), "locked": make(dict, locked, tuple(locked))}
    return make(lambda original, locked: build(**original, **locked), halves, tuple(halves))


def _image(make: Record) -> Shape:
    blob = nullable(make(Blob, {"digest": digest, "size": natural}, ("digest", "size")))
    platform = make(Platform, {"manifest": blob, "config": blob}, ("manifest", "config"))
    name = string(r"[a-z0-9_.-]+(/[a-z0-9_.-]+){1,2}", "a platform such as `linux/arm64`")
    answer = {"digest": digest, "mediaType": nullable(some_text), "platforms": mapping(platform, name)}
    return _entry(make, _locked_image, {"reference": _reference}, answer)


def _locked_image(**fields: Any) -> LockedImage:
    return LockedImage(media_type=fields.pop("mediaType"), **fields)


def _reference(value: Any, path: Path, problems: Problems) -> Any:
    some_text(value, path, problems)
    parsed = parse_reference(value) if type(value) is str else None
    if isinstance(parsed, BadReference) or (parsed and str(parsed) != value):
        problems.append(Problem(path, "RCC612", f"`{dotted(path)}` is no image reference with everything filled in"))
    return value


def _file_id(make: Record) -> Shape:
    by_sha256 = make(FileId, {"size": natural, "sha256": hex_digest}, ("size", "sha256"))
    git = {"size": natural, "git-sha1": string(r"[0-9a-f]{40}", "40 hex digits")}
    by_git = make(lambda size, **named: FileId(size, git_sha1=named["git-sha1"]), git, tuple(git))

    def shape(value: Any, path: Path, problems: Problems) -> Any:
        is_git = type(value) is dict and "git-sha1" in value
        return (by_git if is_git else by_sha256)(value, path, problems)

    return shape


def _carried(make: Record) -> Shape:
    """A carried file, whose key is its path."""
    answer = {"mode": choice("0644", "0755"), "sha256": hex_digest}
    entry = _entry(make, lambda path, **locked: (path, LockedFile(**locked)), {"path": path_key}, answer)

    def shape(value: Any, path: Path, problems: Problems) -> Any:
        read = entry(value, path, problems)
        if read and read[0] != path[-1]:
            message = f"the entry of file `{path[-1]}` has the path `{read[0]}`"
            problems.append(Problem((*path, "original", "path"), "RCC612", message))
        return read and read[1]

    return shape


def _staging(make: Record, files: Shape) -> Shape:
    source = string(rf"{REPO}@[^\0]+", "a source as `org/name@revision`")
    snapshot = {"kind": choice("snapshot"), "source": source, "include": array(some_text), "exclude": array(some_text)}
    rows = {
        "kind": choice("sparse-rows"),
        "source": source,
        "format": choice("sparse-copy"),
        "tensors": some_text,
        "tiling": choice("base-rem", "floor"),
        "world": integer(1),
    }
    common = {"commit": commit, "layout": digest}
    of_kind = {
        "snapshot": _block(make, snapshot, {**common, "files": files}),
        "sparse-rows": _block(make, rows, {**common, **_rows_answer(make)}),
    }

    def shape(value: Any, path: Path, problems: Problems) -> Any:
        try:
            kind = value["original"]["kind"]
        except (TypeError, KeyError, IndexError):
            kind = None
        return of_kind["snapshot" if kind == "snapshot" else "sparse-rows"](value, path, problems)

    return shape


def _block(make: Record, original: Mapping[str, Shape], locked: Mapping[str, Shape]) -> Shape:
    halves = {"original": make(StagingRequest, original, tuple(original)), "locked": make(dict, locked, tuple(locked))}
    return make(lambda original, locked: LockedStaging(original, **locked), halves, tuple(halves))


def _rows_answer(make: Record) -> Mapping[str, Shape]:
    shard = {"size": natural, "header": digest}
    tensor = {"shard": path_key, "dtype": string(r"[A-Z0-9_]+", "a dtype"), "shape": array(natural), "offset": natural}
    return {
        "shards": mapping(make(Shard, shard, tuple(shard)), path_key),
        "tensors": mapping(make(Tensor, tensor, tuple(tensor)), some_text),
        "ranks": array(mapping(_range, layer), least=1),
    }


def _range(value: Any, path: Path, problems: Problems) -> Any:
    if type(value) is list and len(value) != 2:
        problems.append(
            Problem(path, "RCC612", f"`{dotted(path)}` must be a pair: the first row, and the one after the last")
        )
    return array(natural)(value, path, problems)
