"""The goal of a sparse-rows block: header and this rank's rows of every shard that holds a table."""

from __future__ import annotations

from typing import Any

from rcc_node.errors import NodeError
from rcc_node.goal import Goal, StagedFile
from rcc_node.layout import LENGTH_SIZE, Layout, Shard, check_index, header_size, lay_out, read_shard, shards_in_index
from rcc_node.plan import Block
from rcc_node.source import Source
from rcc_node.terms import read_json
from rcc_node.tree import Found, Tree

INDEX = "model.safetensors.index.json"
CONFIG = "config.json"
SMALL_LIMIT = 100_000_000
"""Bytes of an index or a configuration that is read whole."""


def goal(block: Block, asked: dict[str, Any], source: Source) -> Goal:
    """What this rank stages, from the headers of the source."""
    world, rank = asked["world"], asked["rank"]
    tree = Tree(source, block.hf_cache)
    pattern = block.tensors or ""
    index = tree.find(INDEX)
    listing = None if index is None else tree.whole(index, SMALL_LIMIT)
    shards = [_shard(source, file) for file in _holding(pattern, tree, listing)]
    layout = lay_out(shards, pattern, block.tiling, world)
    if listing is not None:
        check_index(listing, pattern, layout)
    _check_locked(block, layout, rank)
    files = [
        StagedFile(shard.name, shard.size, shard.header, tree.blob(shard.name), layout.extents(rank, shard))
        for shard in layout.shards
    ]
    if index is not None:
        files.append(StagedFile(INDEX, index.size, None, index.blob, ((0, index.size),)))
    if block.manifest in {file.name for file in files}:
        raise NodeError(
            "manifest-name", f"`{block.manifest}` is also a file of the snapshot", "name another `manifest`"
        )
    return Goal(
        asked=asked,
        layout=layout.hash,
        rows=layout.ranks[rank],
        quant=_quant(tree),
        files=tuple(files),
    )


def _holding(pattern: str, tree: Tree, listing: bytes | None) -> list[Found]:
    """The shards to read: by the index, or all of a checkpoint that has none."""
    if listing is None:
        return [tree.need(name) for name, folder in tree.names() if name.endswith(".safetensors") and not folder]
    return [tree.need(name) for name in shards_in_index(listing, pattern)]


def _shard(source: Source, file: Found) -> Shard:
    first = source.small(file.path, min(LENGTH_SIZE, file.size))
    end = header_size(file.name, first, file.size)
    return read_shard(file.name, source.small(file.path, end), file.size)


def _check_locked(block: Block, layout: Layout, rank: int) -> None:
    if block.layout not in (None, layout.hash):
        raise NodeError(
            "source-changed",
            f"the tables in `{block.src}` have the layout {layout.hash}, the lock has {block.layout}",
            "restore the locked snapshot, or run `rcc lock --upgrade-staging` and build again",
        )
    if block.rows not in (None, layout.ranks[rank]):
        raise NodeError(
            "rows-differ",
            f"the plan gives rank {rank} other rows than the tables of `{block.src}` do",
            "run `rcc lock --upgrade-staging` and build again",
        )


def _quant(tree: Tree) -> Any:
    config = tree.find(CONFIG)
    if config is None:
        return None
    try:
        document = read_json(tree.whole(config, SMALL_LIMIT))
    except (ValueError, RecursionError) as error:
        raise NodeError("config-unreadable", f"`{config.path}` is no JSON: {error}", "fetch the file again") from error
    return document.get("engram_quant") if isinstance(document, dict) else None
