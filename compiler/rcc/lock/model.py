"""The lock: for every entry what was asked, and the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from typing import Any

from rcc.lock.wanted import StagingRequest
from rcc.quick import dataclass

VERSION = 1
REVISION = 1
"""Grows when fields are added that an older rcc may pass over."""


@dataclass(frozen=True, slots=True)
class Blob:
    """A manifest or a config: its digest (`sha256:…`) and its size in bytes."""

    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Platform:
    """What a platform's nodes pull; null where the image's source did not say (a local daemon)."""

    manifest: Blob | None
    config: Blob | None


@dataclass(frozen=True, slots=True)
class LockedImage:
    """An image: `reference` as asked, and what that named.

    `digest` is the index's where there is one. `platforms` by `os/architecture[/variant]`; `media_type` null as above.
    """

    reference: str
    digest: str
    media_type: str | None
    platforms: Mapping[str, Platform]


@dataclass(frozen=True, slots=True)
class FileId:
    """A file of a snapshot: size in bytes, and its sha256 (LFS, Xet) or else its git blob sha1, in hex."""

    size: int
    sha256: str | None = None
    git_sha1: str | None = None


@dataclass(frozen=True, slots=True)
class LockedModel:
    """A model: repository and revision as asked, the commit that they named, and its files by path."""

    repo: str
    revision: str
    commit: str
    files: Mapping[str, FileId]
    tree: str


@dataclass(frozen=True, slots=True)
class Shard:
    """A safetensors file: size in bytes, and the sha256 (`sha256:…`) of its header with the length before it."""

    size: int
    header: str


@dataclass(frozen=True, slots=True)
class Tensor:
    """A table that is split by rows; `offset` in bytes from the start of its shard."""

    shard: str
    dtype: str
    shape: tuple[int, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class LockedStaging:
    """A staging block's layout, and the commit that it was read at.

    Kind `sparse-rows` has `shards`, `tensors` and, a mapping a rank, `ranks` from layer to half-open range of rows;
    kind `snapshot` has `files`.
    """

    request: StagingRequest
    commit: str
    layout: str
    shards: Mapping[str, Shard] = field(default_factory=dict)
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    ranks: tuple[Mapping[str, tuple[int, int]], ...] = ()
    files: Mapping[str, FileId] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LockedFile:
    """A carried file: sha256 in hex, and `0644` or `0755`."""

    sha256: str
    mode: str


@dataclass(frozen=True, slots=True)
class Lock:
    """A recipe's lock."""

    images: Mapping[str, LockedImage] = field(default_factory=dict)
    models: Mapping[str, LockedModel] = field(default_factory=dict)
    staging: Mapping[str, LockedStaging] = field(default_factory=dict)
    files: Mapping[str, LockedFile] = field(default_factory=dict)


def file_json(file: FileId) -> dict[str, Any]:
    """A file of a snapshot as the lock writes it."""
    named = {"sha256": file.sha256, "git-sha1": file.git_sha1}
    return {"size": file.size, **{name: value for name, value in named.items() if value is not None}}


def tree_hash(files: Mapping[str, FileId]) -> str:
    """`sha256:` over the files as the lock lists them, in canonical JSON without blanks."""
    listed = {path: file_json(file) for path, file in files.items()}
    text = json.dumps(listed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + sha256(text.encode()).hexdigest()
