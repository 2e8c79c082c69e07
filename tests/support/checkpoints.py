"""Checkpoints in safetensors, written by hand; shards may be far larger than any disk, for only heads are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

INDEX = "model.safetensors.index.json"
BITS = {"F8_E4M3": 8, "F8_E8M0": 8, "BF16": 16, "F32": 32, "U8": 8}
Tensors = Mapping[str, tuple[str, Sequence[int]]]
"""dtype and shape by name."""


@dataclass(frozen=True)
class Content:
    """A file: its first bytes, and how many there are; the rest is zeros. In LFS it goes by sha256, else by sha1."""

    head: bytes
    size: int
    lfs: bool
    claimed: str | None = None

    @classmethod
    def of(cls, data: bytes, lfs: bool = False) -> Content:
        return cls(data, len(data), lfs)

    @property
    def data(self) -> bytes:
        """All bytes, of a file that is small enough."""
        assert self.size < 1 << 26
        return self.head + b"\0" * (self.size - len(self.head))

    @property
    def sha256(self) -> str:
        return self.claimed or hashlib.sha256(self.data).hexdigest()

    @property
    def sha1(self) -> str:
        """What `git hash-object` says of the file; of one in LFS, of the text that points to it."""
        data = f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {self.size}\n".encode()
        data = data if self.lfs else self.data
        return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()

    def part(self, start: int, end: int) -> bytes:
        end = min(end, self.size)
        return (self.head[start:end]).ljust(max(0, end - start), b"\0")


def header(tensors: Tensors, metadata: Mapping[str, str] | None = None) -> tuple[bytes, int]:
    """The header of a shard with its length before it, and the size of the whole file."""
    entries: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    at = 0
    for name, (dtype, shape) in tensors.items():
        size = prod(shape) * BITS[dtype] // 8
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text, 8 + len(text) + at


def shard(tensors: Tensors, claimed: str | None = None) -> Content:
    """A shard whose data is zeros; `claimed` stands in for the sha256 of one that is too large to hash."""
    head, size = header(tensors)
    return Content(head, size, lfs=True, claimed=claimed)


def index(shards: Mapping[str, Tensors]) -> Content:
    """The index of a checkpoint."""
    weight_map = {tensor: name for name, tensors in shards.items() for tensor in tensors}
    return Content.of(json.dumps({"metadata": {"total_size": 0}, "weight_map": weight_map}, indent=2).encode())


def table(layer: int, rows: int, id: str = "engram") -> Tensors:
    """Weight and scale of a layer's table: 256 and 8 bytes a row."""
    name = f"layers.{layer}.{id}.embed"
    return {f"{name}.weight": ("F8_E4M3", (rows, 256)), f"{name}.scale": ("F8_E8M0", (rows, 8))}


def sharded(shards: Mapping[str, Tensors]) -> dict[str, Content]:
    """A small checkpoint: shards, index, configuration and some text."""
    files = {name: shard(tensors) for name, tensors in shards.items()}
    return {
        **files,
        INDEX: index(shards),
        "config.json": Content.of(b'{"architectures": ["Small"]}\n'),
        ".gitattributes": Content.of(b"*.safetensors filter=lfs diff=lfs merge=lfs -text\n"),
    }
