"""A lock as canonical JSON: one lock, one text."""

from __future__ import annotations

import json
import re
from typing import Any

from rcc.lock.model import (
    REVISION,
    VERSION,
    Blob,
    Lock,
    LockedFile,
    LockedImage,
    LockedModel,
    LockedStaging,
    file_json,
)
from rcc.lock.wanted import StagingRequest

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_LINE = re.compile(rf" *(?:{_STRING}: )?(?:{_STRING}|[\w.-]+|\[\]|\{{\}}|[\[{{]|[\]}}]),?")
"""A line of indented JSON: one scalar, an empty container, or one end of a container."""


def write_lock(lock: Lock) -> bytes:
    """The bytes of a lock file."""
    return canonical(lock_json(lock)).encode()


def canonical(value: Any) -> str:
    """JSON made for `git diff`: keys sorted, two blanks a level, LF, one final newline, nothing escaped in vain."""
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def is_canonical(text: str, value: Any) -> bool:
    """Whether a text is the canonical one, without writing that: the standard writer of indented JSON is slow."""
    if not text.endswith("\n"):
        return False
    depth = 0
    flat: list[str] = []
    for line in text[:-1].split("\n"):
        if not _LINE.fullmatch(line):
            return False
        bare = line.lstrip(" ")
        depth -= bare[:1] in ("}", "]")
        if len(line) - len(bare) != 2 * depth:
            return False
        depth += bare[-1:] in ("{", "[")
        flat.append(bare + " " if bare[-1:] == "," else bare)
    return "".join(flat) == json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


def lock_json(lock: Lock) -> dict[str, Any]:
    """A lock as what JSON knows."""
    return {
        "version": VERSION,
        "revision": REVISION,
        "images": {id: _image(image) for id, image in lock.images.items()},
        "models": {id: _model(model) for id, model in lock.models.items()},
        "staging": {id: _staging(block) for id, block in lock.staging.items()},
        "files": {path: _file(path, file) for path, file in lock.files.items()},
    }


def _image(image: LockedImage) -> dict[str, Any]:
    platforms = {
        name: {"manifest": _blob(platform.manifest), "config": _blob(platform.config)}
        for name, platform in image.platforms.items()
    }
    return {
        "original": {"reference": image.reference},
        "locked": {"digest": image.digest, "mediaType": image.media_type, "platforms": platforms},
    }


def _blob(blob: Blob | None) -> dict[str, Any] | None:
    return None if blob is None else {"digest": blob.digest, "size": blob.size}


def _model(model: LockedModel) -> dict[str, Any]:
    files = {path: file_json(file) for path, file in model.files.items()}
    return {
        "original": {"repo": model.repo, "revision": model.revision},
        "locked": {"commit": model.commit, "files": files, "tree": model.tree},
    }


def _staging(block: LockedStaging) -> dict[str, Any]:
    locked: dict[str, Any] = {"commit": block.commit, "layout": block.layout}
    if block.request.kind == "snapshot":
        locked["files"] = {path: file_json(file) for path, file in block.files.items()}
    else:
        locked["shards"] = {name: {"size": one.size, "header": one.header} for name, one in block.shards.items()}
        locked["tensors"] = {
            name: {"shard": one.shard, "dtype": one.dtype, "shape": list(one.shape), "offset": one.offset}
            for name, one in block.tensors.items()
        }
        locked["ranks"] = [{layer: list(rows) for layer, rows in rank.items()} for rank in block.ranks]
    return {"original": request_json(block.request), "locked": locked}


def request_json(request: StagingRequest) -> dict[str, Any]:
    """What a staging block asked, with the fields of its kind."""
    if request.kind == "snapshot":
        own = {"include": list(request.include), "exclude": list(request.exclude)}
        return {"kind": request.kind, "source": request.source, **own}
    return {
        "kind": request.kind,
        "source": request.source,
        "format": request.format,
        "tensors": request.tensors,
        "tiling": request.tiling,
        "world": request.world,
    }


def _file(path: str, file: LockedFile) -> dict[str, Any]:
    return {"original": {"path": path}, "locked": {"mode": file.mode, "sha256": file.sha256}}
