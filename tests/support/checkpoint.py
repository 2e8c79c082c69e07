"""Makes checkpoints in a Hugging Face cache: the rows of two layers' tables among other tensors, at odd offsets."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

WEIGHT, SCALE = 256, 8
"""Bytes of a row of an engram table's weight (F8_E4M3) and scale (F8_E8M0)."""

REPO = "models--acme--tables"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
SOURCE = f"acme/tables@{COMMIT}"

_SIZES = {"F8_E4M3": 1, "F8_E8M0": 1, "BF16": 2, "F32": 4}


@dataclass(frozen=True)
class TensorSpec:
    """A tensor to write. `hole` leaves its bytes unwritten, for tables of many GiB."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    hole: bool = False

    @property
    def size(self) -> int:
        count = _SIZES[self.dtype]
        for length in self.shape:
            count *= length
        return count


@dataclass(frozen=True)
class Checkpoint:
    """A snapshot in a cache. `offsets` are absolute, by tensor name; `shards` says which file has it."""

    cache: Path
    snapshot: Path
    tensors: dict[str, TensorSpec]
    offsets: dict[str, int]
    shards: dict[str, str]

    def rows(self, tensor: str, low: int, high: int) -> bytes:
        """The bytes of some rows, read from the blob by plain arithmetic."""
        spec = self.tensors[tensor]
        row = spec.size // spec.shape[0]
        with open(self.snapshot / self.shards[tensor], "rb") as file:
            file.seek(self.offsets[tensor] + low * row)
            return file.read((high - low) * row)


def tables(layer: int, rows: int, hole: bool = False) -> list[TensorSpec]:
    """Weight and scale of a layer's table."""
    name = f"layers.{layer}.engram.embed"
    return [
        TensorSpec(f"{name}.weight", "F8_E4M3", (rows, WEIGHT), hole),
        TensorSpec(f"{name}.scale", "F8_E8M0", (rows, SCALE), hole),
    ]


def standard(first: int = 2003, second: int = 3001) -> dict[str, list[TensorSpec]]:
    """Two layers with tables of different row counts, and other tensors before, between and after them."""
    weight, scale = tables(1, first)
    return {
        "model-00001-of-00003.safetensors": [TensorSpec("embed.weight", "BF16", (33, 17))],
        "model-00002-of-00003.safetensors": [
            TensorSpec("layers.0.attn.norm", "F32", (7,)),
            weight,
            TensorSpec("layers.1.attn.bias", "BF16", (1001,)),
            scale,
            TensorSpec("layers.2.mlp.up", "F8_E4M3", (301, 3)),
        ],
        "model-00003-of-00003.safetensors": [TensorSpec("layers.13.odd", "F8_E4M3", (3,)), *tables(14, second)],
    }


def make(root: Path, shards: dict[str, list[TensorSpec]] | None = None, seed: int = 1, **config: Any) -> Checkpoint:
    """Writes a cache with one snapshot below `root`, laid out as the Hub's library does, links and all."""
    shards = standard() if shards is None else shards
    repo = root / "cache" / "hub" / REPO
    snapshot = repo / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text(COMMIT)
    offsets: dict[str, int] = {}
    for name, tensors in shards.items():
        offsets.update(_write_shard(repo, snapshot / name, tensors, f"{seed} {name}"))
    weight_map = {tensor.name: name for name, tensors in shards.items() for tensor in tensors}
    total = sum(tensor.size for tensors in shards.values() for tensor in tensors)
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    _write_small(repo, snapshot / "model.safetensors.index.json", json.dumps(index, indent=2).encode())
    _write_small(repo, snapshot / "config.json", json.dumps({"model_type": "tables", **config}).encode())
    return Checkpoint(
        cache=root / "cache",
        snapshot=snapshot,
        tensors={tensor.name: tensor for tensors in shards.values() for tensor in tensors},
        offsets=offsets,
        shards=weight_map,
    )


def without(shards: dict[str, list[TensorSpec]], tensor: str) -> dict[str, list[TensorSpec]]:
    """The shards, one tensor left out."""
    return {name: [spec for spec in specs if spec.name != tensor] for name, specs in shards.items()}


def reshaped(shards: dict[str, list[TensorSpec]], tensor: str, shape: tuple[int, ...]) -> dict[str, list[TensorSpec]]:
    """The shards, one tensor of another shape."""
    return {
        name: [replace(spec, shape=shape) if spec.name == tensor else spec for spec in specs]
        for name, specs in shards.items()
    }


def header(tensors: Sequence[TensorSpec]) -> tuple[bytes, dict[str, int]]:
    """A safetensors header, length field and all, of a size that no block aligns, and every tensor's offset."""
    entries: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    position = 0
    for tensor in tensors:
        entries[tensor.name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [position, position + tensor.size],
        }
        position += tensor.size
    text = json.dumps(entries).encode()
    text += b" " * ((3 - len(text)) % 8)  # an odd length: readers demand no alignment
    data = 8 + len(text)
    offsets = {tensor.name: data + entries[tensor.name]["data_offsets"][0] for tensor in tensors}
    return len(text).to_bytes(8, "little") + text, offsets


def _write_shard(repo: Path, entry: Path, tensors: Sequence[TensorSpec], seed: str) -> dict[str, int]:
    start, offsets = header(tensors)
    temporary = repo / "incomplete"
    digest = hashlib.sha256(start)
    with open(temporary, "wb") as file:
        file.write(start)
        for tensor in tensors:
            if tensor.hole:
                digest.update(tensor.name.encode())  # the name stands for content that nobody will hash
                file.seek(tensor.size, os.SEEK_CUR)
            else:
                for part in _content(f"{seed} {tensor.name}", tensor.size):
                    digest.update(part)
                    file.write(part)
        file.truncate()
    _link(repo, temporary, entry, digest.hexdigest())
    return offsets


def _content(seed: str, size: int) -> Iterator[bytes]:
    generator = random.Random(seed)
    while size > 0:
        count = min(size, 1 << 20)
        yield generator.randbytes(count)
        size -= count


def _write_small(repo: Path, entry: Path, data: bytes) -> None:
    temporary = repo / "incomplete"
    temporary.write_bytes(data)
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    _link(repo, temporary, entry, blob)


def _link(repo: Path, temporary: Path, entry: Path, blob: str) -> None:
    (repo / "blobs").mkdir(exist_ok=True)
    temporary.rename(repo / "blobs" / blob)
    entry.parent.mkdir(parents=True, exist_ok=True)
    entry.symlink_to(os.path.relpath(repo / "blobs" / blob, entry.parent))
