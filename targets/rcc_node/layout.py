"""Which bytes of a checkpoint a rank stages: safetensors headers, tiling of rows, and the layout's hash.

Pure functions over bytes and sizes: the node gives them files, the compiler headers that it fetched by range request,
and both get the same hash.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from math import prod
from typing import Any

from rcc_node.errors import NodeError
from rcc_node.quick import dataclass
from rcc_node.terms import TILINGS as TILINGS
from rcc_node.terms import Range as Range
from rcc_node.terms import SnapshotFile as SnapshotFile
from rcc_node.terms import read_json
from rcc_node.terms import rows_text as rows_text

LENGTH_SIZE = 8
HEADER_LIMIT = 100_000_000
"""Bytes of JSON in a safetensors header; the format's own limit."""

SPARSE_COPY = "sparse-copy"

_LARGEST = (1 << 63) - 1
"""No length and no offset of a file is larger; Python shows no integer of thousands of digits."""

_LAYER_DIGITS = 9

DTYPE_BITS: Mapping[str, int] = {
    **dict.fromkeys(("F4",), 4),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F8_E8M0"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 64),
}


class LayoutError(NodeError):
    """A checkpoint that cannot be laid out as asked. `message` says what is wrong, `help` what to do."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__("layout", message, help)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a shard. `offset` and `size` are bytes, the offset counts from the start of the file."""

    name: str
    shard: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    size: int

    @property
    def rows(self) -> int:
        return self.shape[0]

    @property
    def row_size(self) -> int:
        """Bytes of one row."""
        return prod(self.shape[1:]) * DTYPE_BITS[self.dtype] // 8


@dataclass(frozen=True, slots=True)
class Shard:
    """A safetensors file as its header describes it.

    `header_size` counts the length field and the JSON, and `header` is the hash over both: `sha256:<hex>`.
    """

    name: str
    size: int
    header: str
    header_size: int
    tensors: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """What every rank stages. `shards` are those that hold a table, `ranks` the rows of each rank by layer."""

    format: str
    tiling: str
    world: int
    shards: tuple[Shard, ...]
    tables: tuple[Tensor, ...]
    ranks: tuple[dict[str, Range], ...]

    def document(self) -> dict[str, Any]:
        """What the hash is taken over."""
        return {
            "format": self.format,
            "tiling": self.tiling,
            "world": self.world,
            "shards": [{"name": s.name, "size": s.size, "header": s.header} for s in self.shards],
            "tensors": [
                {"name": t.name, "shard": t.shard, "dtype": t.dtype, "shape": list(t.shape), "offset": t.offset}
                for t in self.tables
            ],
            "ranks": [{layer: list(rows) for layer, rows in rank.items()} for rank in self.ranks],
        }

    @property
    def hash(self) -> str:
        return canonical_hash(self.document())

    def extents(self, rank: int, shard: Shard) -> tuple[Range, ...]:
        """Bytes of a shard that a rank stages: the header and its rows of each table, sorted, neighbours joined."""
        spans = [(0, shard.header_size)]
        for table in self.tables:
            if table.shard == shard.name:
                low, high = self.ranks[rank][layer_of(table.name)]
                spans.append((table.offset + low * table.row_size, table.offset + high * table.row_size))
        return joined(spans)


def canonical_hash(document: Mapping[str, Any]) -> str:
    """`sha256:<hex>` of a document's canonical JSON."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def joined(spans: Iterable[Range]) -> tuple[Range, ...]:
    """Spans in order, without the empty ones, those that touch made one."""
    result: list[Range] = []
    for start, end in sorted(spans):
        if start == end:
            continue
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return tuple(result)


# --- headers -------------------------------------------------------------------------------------------------------


def header_size(name: str, start: bytes, size: int) -> int:
    """Bytes from the start of a safetensors file of `size` bytes to its data, from its first eight bytes."""
    if size < LENGTH_SIZE or len(start) < LENGTH_SIZE:
        raise _bad_header(name, f"is {min(size, len(start))} bytes long, too short for a header")
    length = int.from_bytes(start[:LENGTH_SIZE], "little")
    if length > HEADER_LIMIT:
        raise _bad_header(name, f"states a header of {length} bytes, over the format's limit of {HEADER_LIMIT}")
    if LENGTH_SIZE + length > size:
        raise _bad_header(name, f"states a header of {length} bytes and is {size} bytes long")
    return LENGTH_SIZE + length


def read_shard(name: str, start: bytes, size: int) -> Shard:
    """The shard `name` of `size` bytes, whose first `header_size` bytes (or more) are `start`."""
    end = header_size(name, start, size)
    if len(start) < end:
        raise _bad_header(name, f"ends after {len(start)} of {end} bytes of its header")
    raw = start[:end]
    tensors = [
        _tensor(name, key, entry, end)
        for key, entry in _header_json(name, raw[LENGTH_SIZE:]).items()
        if key != "__metadata__"
    ]
    tensors.sort(key=lambda t: (t.offset, t.size, t.name))
    _check_coverage(name, tensors, end, size)
    return Shard(name, size, "sha256:" + hashlib.sha256(raw).hexdigest(), end, tuple(tensors))


def _bad_header(name: str, why: str) -> LayoutError:
    return LayoutError(f"shard `{name}` {why}", "fetch the file again, it is damaged or no safetensors file")


def _header_json(name: str, raw: bytes) -> dict[str, Any]:
    if not raw.startswith(b"{"):
        raise _bad_header(name, "has a header that does not begin with `{`")
    try:
        header = read_json(raw, _unique)
    except (ValueError, RecursionError) as error:
        raise _bad_header(name, f"has a header that is no JSON of this format: {error}") from error
    metadata = header.get("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise _bad_header(name, "has a `__metadata__` that is no table of strings")
    return dict(header)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Readers take the last of two equal keys, or the first: only a file without any means one thing.
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"the key `{key}` stands twice")
        table[key] = value
    return table


def _tensor(shard: str, name: str, entry: Any, data: int) -> Tensor:
    try:
        dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(dtype, str) or not isinstance(shape, list):
            raise TypeError
        natural = [type(n) is int and 0 <= n <= _LARGEST for n in (*shape, begin, end)]
    except (KeyError, TypeError, ValueError) as error:
        raise _bad_header(shard, f"lacks dtype, shape or data offsets of tensor `{name}`") from error
    if not all(natural):
        raise _bad_header(shard, f"has a shape or an offset that is no natural number of 64 bits, at tensor `{name}`")
    if dtype not in DTYPE_BITS:
        raise _bad_header(shard, f"has tensor `{name}` of the unknown dtype `{dtype}`")
    bits = prod(shape) * DTYPE_BITS[dtype]
    if bits != 8 * (end - begin):
        takes = f"takes {bits / 8:.16g}" if bits <= _LARGEST else "takes more than any file has"
        raise _bad_header(shard, f"gives tensor `{name}` {end - begin} bytes, {dtype} {shape} {takes}")
    return Tensor(name, shard, dtype, tuple(shape), data + begin, end - begin)


def _check_coverage(name: str, tensors: Sequence[Tensor], start: int, size: int) -> None:
    position = start
    for tensor in tensors:
        if tensor.offset != position:
            what = "a hole" if tensor.offset > position else "an overlap"
            raise _bad_header(name, f"has {what} before tensor `{tensor.name}`")
        position += tensor.size
    if position != size:
        raise _bad_header(name, f"is {size} bytes long where its header accounts for {position}")


# --- tables --------------------------------------------------------------------------------------------------------


def tables_in_index(index: bytes, pattern: str) -> dict[str, str]:
    """The shard of each matching tensor, from the bytes of `model.safetensors.index.json`."""
    try:
        weight_map = read_json(index, _unique)["weight_map"]
        found = {tensor: shard for tensor, shard in weight_map.items() if fnmatchcase(tensor, pattern)}
        if not all(isinstance(name, str) and _plain_name(name) for name in found.values()):
            raise TypeError("a shard's name is no plain file name")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LayoutError(
            f"the safetensors index cannot be read: {error}", "fetch `model.safetensors.index.json` again"
        ) from error
    if not found:
        raise _nothing_matches(pattern, weight_map)
    return found


def shards_in_index(index: bytes, pattern: str) -> tuple[str, ...]:
    """Names of the shards that hold a matching tensor, sorted."""
    return tuple(sorted(set(tables_in_index(index, pattern).values())))


def check_index(index: bytes, pattern: str, layout: Layout) -> None:
    """Refuses an index that places the tables elsewhere than the shards' headers do."""
    listed, found = tables_in_index(index, pattern), {table.name: table.shard for table in layout.tables}
    for name in sorted(listed.keys() | found.keys()):
        if listed.get(name) != found.get(name):
            raise LayoutError(
                f"`{name}` is in `{listed.get(name)}` by the safetensors index, in `{found.get(name)}` by the headers",
                "fetch the snapshot again",
            )


def _plain_name(name: str) -> bool:
    return bool(name) and "/" not in name and "\0" not in name and name not in (".", "..")


def _nothing_matches(pattern: str, names: Iterable[str]) -> LayoutError:
    like = [name for name in sorted(names) if re.search(r"[0-9]", name)][:1]
    example = f"; tensors here are called like `{like[0]}`" if like else ""
    return LayoutError(f"no tensor of the checkpoint matches `{pattern}`", f"correct the glob `tensors`{example}")


def layer_of(tensor: str) -> str:
    """The layer of a tensor: the one number in its name, preferably as a part between dots."""
    numbers = [part for part in tensor.split(".") if re.fullmatch(r"[0-9]+", part)]
    numbers = numbers or re.findall(r"[0-9]+", tensor)
    if len(numbers) != 1 or len(numbers[0]) > _LAYER_DIGITS:
        what = f"{len(numbers) or 'no'} numbers" if len(numbers) != 1 else f"a number of {len(numbers[0])} digits"
        raise LayoutError(
            f"tensor `{tensor}` has {what} in its name, so its layer is not known",
            "narrow the glob `tensors` to the tables of one row store",
        )
    return str(int(numbers[0]))


def tile(rows: int, world: int, tiling: str = "base-rem") -> tuple[Range, ...]:
    """The rows of every rank.

    `base-rem`: the first `rows % world` ranks get one row more.
    `floor`: `[rows * rank // world, rows * (rank + 1) // world)`.
    """
    if world < 1:
        raise LayoutError(f"rows cannot be split over {world} ranks", "use one rank or more")
    if tiling == "base-rem":
        base, rest = divmod(rows, world)
        bounds = [rank * base + min(rank, rest) for rank in range(world + 1)]
    elif tiling == "floor":
        bounds = [rows * rank // world for rank in range(world + 1)]
    else:
        raise LayoutError(f"there is no tiling `{tiling}`", "use one of " + ", ".join(f"`{t}`" for t in TILINGS))
    return tuple(pairwise(bounds))


def prove_tiling(layer: str, rows: int, ranges: Sequence[Range]) -> None:
    """Refuses ranges that do not cover `[0, rows)` exactly, each row once, in the order of the ranks."""
    position = 0
    for rank, (low, high) in enumerate(ranges):
        if low != position or high < low:
            raise _no_tiling(layer, rows, f"rank {rank} has [{low}, {high}) where row {position} is next")
        position = high
    if position != rows:
        raise _no_tiling(layer, rows, f"they end at row {position}")


def _no_tiling(layer: str, rows: int, why: str) -> LayoutError:
    return LayoutError(
        f"the ranks' rows of layer {layer} do not tile [0, {rows}): {why}",
        "lock again and build all ranks from one lock: an all-reduce would double rows or miss some",
    )


def lay_out(shards: Iterable[Shard], pattern: str, tiling: str, world: int) -> Layout:
    """The sparse-copy layout of all tensors of `shards` that match the glob `pattern`, over `world` ranks."""
    shards = sorted(shards, key=lambda shard: shard.name)
    found = [t for shard in shards for t in shard.tensors if fnmatchcase(t.name, pattern)]
    if not found:
        raise _nothing_matches(pattern, [t.name for shard in shards for t in shard.tensors])
    tables = sorted(found, key=lambda t: (int(layer_of(t.name)), t.name))
    rows_of = _rows_of_layers(tables)
    tilings = {layer: tile(rows, world, tiling) for layer, rows in rows_of.items()}
    for layer, ranges in tilings.items():
        prove_tiling(layer, rows_of[layer], ranges)
    holding = {table.shard for table in tables}
    return Layout(
        format=SPARSE_COPY,
        tiling=tiling,
        world=world,
        shards=tuple(shard for shard in shards if shard.name in holding),
        tables=tuple(tables),
        ranks=tuple({layer: ranges[rank] for layer, ranges in tilings.items()} for rank in range(world)),
    )


def _rows_of_layers(tables: Sequence[Tensor]) -> dict[str, int]:
    """Rows of each layer, whose tables must lie in one shard and have as many rows as each other."""
    first: dict[str, Tensor] = {}
    names: set[str] = set()
    for table in tables:
        if table.name in names:
            raise LayoutError(f"tensor `{table.name}` stands in two shards", "fetch the snapshot again")
        names.add(table.name)
        if not table.shape or prod(table.shape[1:]) * DTYPE_BITS[table.dtype] % 8:
            raise LayoutError(
                f"tensor `{table.name}` of shape {list(table.shape)} has no rows of whole bytes",
                "narrow the glob `tensors` to tables",
            )
        other = first.setdefault(layer_of(table.name), table)
        if other.shard != table.shard:
            raise LayoutError(
                f"`{other.name}` and `{table.name}` stand in different shards, `{other.shard}` and `{table.shard}`",
                "a row store reads both from one shard: this checkpoint cannot be staged by rows",
            )
        if other.rows != table.rows:
            raise LayoutError(
                f"`{other.name}` has {other.rows} rows and `{table.name}` has {table.rows}",
                "narrow the glob `tensors` to weight and scale of one table a layer",
            )
    return {layer: table.rows for layer, table in first.items()}


# --- snapshots -----------------------------------------------------------------------------------------------------


def selected(name: str, include: Sequence[str], exclude: Sequence[str]) -> bool:
    """Whether a snapshot's file is staged: matched by a glob of `include` (none: all) and by none of `exclude`."""
    wanted = not include or any(fnmatchcase(name, glob) for glob in include)
    return wanted and not any(fnmatchcase(name, glob) for glob in exclude)


def snapshot_hash(files: Iterable[SnapshotFile]) -> str:
    """The layout's hash of a staged snapshot: over name, size and id of its files."""
    ordered = sorted(files, key=lambda file: file.name)
    listed = [{"name": file.name, "size": file.size, "id": file.id} for file in ordered]
    return canonical_hash({"format": "snapshot", "files": listed})
