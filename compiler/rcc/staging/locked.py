"""A staging block's entry in the lock: made from what a checkpoint holds, and proved when it is read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rcc.diagnostic import Findings, finding
from rcc.lock.checks import RESTORE
from rcc.lock.model import FileId, Lock, LockedStaging, Shard, Tensor
from rcc.lock.places import place_in
from rcc.lock.wanted import StagingRequest
from rcc.source import Source
from rcc.staging.headers import refused
from rcc_node import layout
from rcc_node.layout import LayoutError


def lock_rows(
    request: StagingRequest, commit: str, shards: Iterable[layout.Shard]
) -> tuple[LockedStaging | None, Findings]:
    """The entry of a block of kind `sparse-rows`, from the headers of its shards."""
    assert request.tensors is not None
    assert request.tiling is not None
    assert request.world is not None
    try:
        laid = layout.lay_out(shards, request.tensors, request.tiling, request.world)
    except LayoutError as error:
        return None, refused(error)
    entry = LockedStaging(
        request,
        commit,
        laid.hash,
        shards={one.name: Shard(one.size, one.header) for one in laid.shards},
        tensors={one.name: Tensor(one.shard, one.dtype, one.shape, one.offset) for one in laid.tables},
        ranks=laid.ranks,
    )
    return entry, ()


def lock_snapshot(
    request: StagingRequest, commit: str, files: Mapping[str, FileId]
) -> tuple[LockedStaging | None, Findings]:
    """The entry of a block of kind `snapshot`: the files that its globs pick."""
    picked = {name: one for name, one in files.items() if layout.selected(name, request.include, request.exclude)}
    if not picked:
        message = "`include` and `exclude` leave no file of the snapshot to stage"
        return None, (finding("RCC1215", message, help="widen `include`, or narrow `exclude`"),)
    return LockedStaging(request, commit, _snapshot_hash(picked), files=picked), ()


def _snapshot_hash(files: Mapping[str, FileId]) -> str:
    return layout.snapshot_hash(layout.SnapshotFile(name, one.size, _node_id(one)) for name, one in files.items())


def _node_id(file: FileId) -> str:
    return f"sha256:{file.sha256}" if file.sha256 else f"git:{file.git_sha1}"


def check_layouts(lock: Lock, text: Source) -> Findings:
    """Errors for entries whose layout is not the hash over them, or whose ranges do not tile; `text` is the lock's."""
    found = []
    for id, block in sorted(lock.staging.items()):
        why = _wrong_rows(block) if block.ranks else _wrong_snapshot(block)
        if why:
            place = place_in(text, ("staging", id, "locked", "layout"))
            found.append(finding("RCC615", f"staging `{id}`: {why}", place, help=RESTORE))
    return tuple(found)


def _wrong_snapshot(block: LockedStaging) -> str | None:
    return None if _snapshot_hash(block.files) == block.layout else "its files are not those that `layout` was made of"


def _wrong_rows(block: LockedStaging) -> str | None:
    try:
        document = _document(block)
        for name, table in block.tensors.items():
            layer = layout.layer_of(name)
            layout.prove_tiling(layer, table.shape[0], [rank[layer] for rank in block.ranks])
    except LayoutError as error:
        return error.message
    except (KeyError, IndexError):
        return "its ranks and its tensors are not of the same layers"
    if layout.canonical_hash(document) != block.layout or len(block.ranks) != block.request.world:
        return "what it holds is not what `layout` was made of"
    return None


def _document(block: LockedStaging) -> Mapping[str, object]:
    """The block's half of the lock in the form that the layout's hash is taken over."""
    shards = sorted(block.shards.items())
    tables = sorted(block.tensors.items(), key=lambda item: (int(layout.layer_of(item[0])), item[0]))
    return {
        "format": block.request.format,
        "tiling": block.request.tiling,
        "world": block.request.world,
        "shards": [{"name": name, "size": one.size, "header": one.header} for name, one in shards],
        "tensors": [
            {"name": name, "shard": one.shard, "dtype": one.dtype, "shape": list(one.shape), "offset": one.offset}
            for name, one in tables
        ],
        "ranks": [{layer: list(rows) for layer, rows in rank.items()} for rank in block.ranks],
    }
