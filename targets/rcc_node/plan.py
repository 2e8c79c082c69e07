"""`stage.json`: what a node is to stage and what must be true before its engine starts (docs/reference/node.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rcc_node.errors import USAGE, NodeError
from rcc_node.quick import dataclass
from rcc_node.terms import TILINGS, Range, SnapshotFile, read_json

VERSION = 1
SPARSE_ROWS = "sparse-rows"
SNAPSHOT = "snapshot"


@dataclass(frozen=True, slots=True)
class Block:
    """One `[[staging]]` block for one rank. Sizes are bytes, `rate_limit` bytes a second."""

    id: str
    kind: str
    src: str
    dst: str
    format: str | None = None
    source: str | None = None
    hf_cache: str | None = None
    tensors: str | None = None
    manifest: str | None = None
    tiling: str = TILINGS[0]
    serve: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    min_free: int | None = None
    rate_limit: int | None = None
    layout: str | None = None
    rows: dict[str, Range] | None = None
    files: tuple[SnapshotFile, ...] | None = None


@dataclass(frozen=True, slots=True)
class Gid:
    """The GID search: NCCL_IB_HCA, this node's fabric address, and whether HCAs that differ are a failure."""

    hca: str
    fabric: str
    needed: bool


@dataclass(frozen=True, slots=True)
class Preflight:
    """What else is checked before a start."""

    files: tuple[tuple[str, str], ...] = ()
    ports: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()
    evict: tuple[str, ...] = ()
    memory: int | None = None
    unified_memory: bool = False
    gpu: bool = False
    image: str | None = None
    digest: str | None = None
    gid: Gid | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A `stage.json`, read for one rank."""

    id: str
    plan: str | None
    rank: int
    world: int
    blocks: tuple[Block, ...]
    preflight: Preflight = Preflight()


def read_plan(data: bytes, rank: int | None = None, name: str = "stage.json") -> Plan:
    """The plan in `data`, for `rank` where the command line names one."""
    try:
        document = read_json(data)
    except (ValueError, RecursionError) as error:
        raise _bad(name, f"is no JSON: {error}") from error
    try:
        return _plan(document, rank)
    except _Malformed as error:
        raise _bad(name, str(error)) from error


def _bad(name: str, why: str) -> NodeError:
    return NodeError("plan-unreadable", f"`{name}` {why}", "copy it again from the result of `rcc build`", USAGE)


class _Malformed(Exception):  # noqa: N818
    pass


class _Table:
    """A JSON object that is taken apart key by key; what is left over is refused."""

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise _Malformed(f"has no table at {where}")
        self.rest = dict(value)
        self.where = where

    def take(self, key: str, read: Callable[[Any], Any], default: Any = ...) -> Any:
        value = self.rest.pop(key, None)
        if value is None:
            if default is ...:
                raise _Malformed(f"lacks `{key}` in {self.where}")
            return default
        try:
            return read(value)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise _Malformed(f"has a wrong value for `{key}` in {self.where}") from error

    def done(self) -> None:
        for key in sorted(self.rest):
            raise _Malformed(f"has the unknown key `{key}` in {self.where}")


def _plan(document: Any, rank: int | None) -> Plan:
    table = _Table(document, "the file")
    if table.take("version", _natural) != VERSION:
        raise _Malformed(f"is not of version {VERSION}")
    world = table.take("world", _positive)
    stated = table.take("rank", _natural, None)
    if rank is not None and stated not in (None, rank):
        raise _Malformed(f"is for rank {stated}, not for rank {rank}")
    rank = stated if rank is None else rank
    if rank is None or rank >= world:
        raise _Malformed("names no rank: give one with --rank" if rank is None else f"has {world} ranks, no {rank}")
    blocks = table.take("blocks", lambda value: tuple(_block(entry) for entry in value), ())
    plan = Plan(
        id=table.take("id", _text),
        plan=table.take("plan", _text, None),
        rank=rank,
        world=world,
        blocks=blocks,
        preflight=table.take("preflight", _preflight, Preflight()),
    )
    table.done()
    for key in ("id", "dst"):
        if len({getattr(block, key) for block in blocks}) < len(blocks):
            raise _Malformed(f"has two blocks with one `{key}`")
    return plan


def _block(value: Any) -> Block:
    table = _Table(value, "a block")
    kind = table.take("kind", _one_of(SPARSE_ROWS, SNAPSHOT))
    by_rows = kind == SPARSE_ROWS
    name = table.take("id", _text)
    block = Block(
        id=name,
        kind=kind,
        src=table.take("src", _absolute),
        dst=table.take("dst", _absolute),
        format=table.take("format", _one_of("sparse-copy"), "sparse-copy" if by_rows else None),
        source=table.take("source", _text, None),
        hf_cache=table.take("hf_cache", _absolute, None),
        tensors=table.take("tensors", _text, f"layers.*.{name}.embed.*" if by_rows else None),
        manifest=table.take("manifest", _file_name, f"{name}-local.json" if by_rows else None),
        tiling=table.take("tiling", _one_of(*TILINGS), TILINGS[0]),
        serve=table.take("serve", _flag, False),
        include=table.take("include", _texts, ()),
        exclude=table.take("exclude", _texts, ()),
        min_free=table.take("min_free", _natural, None),
        rate_limit=table.take("rate_limit", _positive, None),
        layout=table.take("layout", _text, None),
        rows=table.take("rows", _rows, None),
        files=table.take("files", lambda entries: tuple(_snapshot_file(entry) for entry in entries), None),
    )
    table.done()
    return block


def _snapshot_file(value: Mapping[str, Any]) -> SnapshotFile:
    return SnapshotFile(_text(value["name"]), _natural(value["size"]), value["id"] and _text(value["id"]))


def _preflight(value: Any) -> Preflight:
    table = _Table(value, "`preflight`")
    preflight = Preflight(
        files=table.take("files", lambda v: tuple((_absolute(f["path"]), _text(f["sha256"])) for f in v), ()),
        ports=table.take("ports", lambda ports: tuple(_port(port) for port in ports), ()),
        paths=table.take("paths", lambda paths: tuple(_absolute(path) for path in paths), ()),
        evict=table.take("evict", lambda paths: tuple(_absolute(path) for path in paths), ()),
        memory=table.take("memory", _natural, None),
        unified_memory=table.take("unified_memory", _flag, False),
        gpu=table.take("gpu", _flag, False),
        image=table.take("image", _text, None),
        digest=table.take("digest", _text, None),
        gid=table.take("gid", lambda v: Gid(_text(v["hca"]), _text(v["fabric"]), _flag(v["needed"])), None),
    )
    table.done()
    return preflight


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise TypeError
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(_text(entry) for entry in value)


def _absolute(value: Any) -> str:
    if not _text(value).startswith("/"):
        raise ValueError
    return str(value)


def _file_name(value: Any) -> str:
    if "/" in _text(value) or value in (".", ".."):
        raise ValueError
    return str(value)


def _natural(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


def _positive(value: Any) -> int:
    if _natural(value) < 1:
        raise ValueError
    return int(value)


def _port(value: Any) -> int:
    if _positive(value) > 65535:
        raise ValueError
    return int(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _rows(value: Mapping[str, Any]) -> dict[str, Range]:
    rows = {str(int(layer)): (_natural(low), _natural(high)) for layer, (low, high) in value.items()}
    return dict(sorted(rows.items(), key=lambda item: int(item[0])))


def _one_of(*allowed: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in allowed:
            raise ValueError
        return str(value)

    return read
