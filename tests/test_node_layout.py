"""Tiling, headers and the layout's hash, judged by arithmetic, the safetensors package and a hash made by hand."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError, safe_open

from rcc_node import layout
from rcc_node.layout import LayoutError, SnapshotFile
from tests.support.checkpoint import TensorSpec, header, make, reshaped, standard, tables

GLOB = "layers.*.engram.embed.*"
REAL_ROWS = 384_016_682


def shard(tensors: list[TensorSpec], name: str = "a.safetensors") -> layout.Shard:
    start, _ = header(tensors)
    return layout.read_shard(name, start, len(start) + sum(tensor.size for tensor in tensors))


@pytest.mark.parametrize(
    ("tiling", "bounds"),
    [("base-rem", [96004171, 192008342, 288012512]), ("floor", [96004170, 192008341, 288012511])],
)
def test_real_table_over_four_ranks(tiling: str, bounds: list[int]) -> None:
    edges = [0, *bounds, REAL_ROWS]
    assert layout.tile(REAL_ROWS, 4, tiling) == tuple((edges[rank], edges[rank + 1]) for rank in range(4))


@given(st.integers(0, 10**10), st.integers(1, 64), st.sampled_from(layout.TILINGS))
def test_every_row_belongs_to_one_rank(rows: int, world: int, tiling: str) -> None:
    ranges = layout.tile(rows, world, tiling)
    layout.prove_tiling("1", rows, ranges)
    assert len(ranges) == world
    assert sum(high - low for low, high in ranges) == rows
    assert max(high - low for low, high in ranges) - min(high - low for low, high in ranges) <= 1


@pytest.mark.parametrize(
    "ranges",
    [
        [(0, 5), (4, 10)],
        [(0, 5), (6, 10)],
        [(0, 5), (5, 9)],
        [(1, 5), (5, 10)],
        [(0, 5), (5, 11)],
        [],
        [(0, 12), (12, 10)],
    ],
)
def test_ranges_that_do_not_tile_are_refused(ranges: list[tuple[int, int]]) -> None:
    with pytest.raises(LayoutError, match="do not tile"):
        layout.prove_tiling("1", 10, ranges)


def test_unknown_tiling_and_no_ranks_are_refused() -> None:
    with pytest.raises(LayoutError):
        layout.tile(10, 4, "ceil")
    with pytest.raises(LayoutError):
        layout.tile(10, 0)


def test_hash_is_the_one_that_the_contract_describes() -> None:
    first = [TensorSpec("other", "BF16", (5, 3)), *tables(1, 10)]
    second = tables(14, 11)
    shards = [shard(second, "b.safetensors"), shard(first, "a.safetensors"), shard([first[0]], "c.safetensors")]
    found = layout.lay_out(shards, GLOB, "base-rem", 4)

    starts = {"a.safetensors": header(first), "b.safetensors": header(second)}
    sizes = {"a.safetensors": 30 + 264 * 10, "b.safetensors": 264 * 11}
    tensors = [("a.safetensors", spec) for spec in first[1:]] + [("b.safetensors", spec) for spec in second]
    by_hand = {
        "format": "sparse-copy",
        "tiling": "base-rem",
        "world": 4,
        "shards": [
            {
                "name": name,
                "size": len(start) + sizes[name],
                "header": "sha256:" + hashlib.sha256(start).hexdigest(),
            }
            for name, (start, _) in sorted(starts.items())
        ],
        "tensors": [
            {
                "name": spec.name,
                "shard": name,
                "dtype": spec.dtype,
                "shape": list(spec.shape),
                "offset": starts[name][1][spec.name],
            }
            for name, spec in sorted(tensors, key=lambda pair: (int(pair[1].name.split(".")[1]), pair[1].name))
        ],
        "ranks": [
            {"1": [0, 3], "14": [0, 3]},
            {"1": [3, 6], "14": [3, 6]},
            {"1": [6, 8], "14": [6, 9]},
            {"1": [8, 10], "14": [9, 11]},
        ],
    }
    text = json.dumps(by_hand, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert found.hash == "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    assert layout.rows_text(found.ranks[2]) == "1:6:8,14:6:9"


@pytest.mark.parametrize("change", ["tiling", "world", "rows", "name"])
def test_hash_tells_layouts_apart(change: str) -> None:
    base = layout.lay_out([shard(tables(1, 11))], GLOB, "base-rem", 4)
    rows = 12 if change == "rows" else 11
    name = "b.safetensors" if change == "name" else "a.safetensors"
    tiling, world = ("floor" if change == "tiling" else "base-rem"), (2 if change == "world" else 4)
    assert layout.lay_out([shard(tables(1, rows), name)], GLOB, tiling, world).hash != base.hash


def test_extents_are_header_and_rows() -> None:
    tensors = [*tables(1, 10), TensorSpec("after", "BF16", (5, 3))]
    start, offsets = header(tensors)
    found = layout.lay_out([shard(tensors)], GLOB, "base-rem", 4)
    weight, scale = offsets["layers.1.engram.embed.weight"], offsets["layers.1.engram.embed.scale"]
    assert found.extents(1, found.shards[0]) == (
        (0, len(start)),
        (weight + 3 * 256, weight + 6 * 256),
        (scale + 3 * 8, scale + 6 * 8),
    )
    assert found.extents(0, found.shards[0])[0] == (0, weight + 3 * 256), (
        "rows that follow the header are one span with it"
    )


def test_more_ranks_than_rows_leaves_ranks_with_the_header_alone() -> None:
    found = layout.lay_out([shard(tables(1, 2))], GLOB, "floor", 4)
    assert sorted(found.ranks[rank]["1"] for rank in range(4)) == [(0, 0), (0, 1), (1, 1), (1, 2)]
    assert found.extents(0, found.shards[0]) == ((0, found.shards[0].header_size),)


def refused(shards: list[layout.Shard], pattern: str = GLOB) -> LayoutError:
    with pytest.raises(LayoutError) as caught:
        layout.lay_out(shards, pattern, "base-rem", 2)
    assert caught.value.help
    return caught.value


def test_scale_of_other_row_count_is_refused() -> None:
    weight, scale = tables(1, 10)
    error = refused([shard([weight, TensorSpec(scale.name, scale.dtype, (9, 8))])])
    assert "has 9 rows" in error.message
    assert "has 10" in error.message


def test_weight_and_scale_in_two_shards_are_refused() -> None:
    weight, scale = tables(1, 10)
    assert "different shards" in refused([shard([weight], "a"), shard([scale], "b")]).message


def test_a_table_in_two_shards_is_refused() -> None:
    assert "two shards" in refused([shard(tables(1, 10), "a"), shard(tables(1, 10), "b")]).message


def test_no_match_shows_a_name_that_is_there() -> None:
    assert "`layers.1.engram.embed.scale`" in refused([shard(tables(1, 10))], "blocks.*").help


def test_a_tensor_without_rows_is_refused() -> None:
    assert "no rows" in refused([shard([TensorSpec("layers.1.engram.embed.x", "F32", ())])]).message


@pytest.mark.parametrize(
    ("name", "layer"),
    [("layers.14.engram.embed.weight", "14"), ("model.layers.07.e", "7"), ("h3.layers.2.e", "2"), ("layer_5.e", "5")],
)
def test_layer_is_the_number_in_the_name(name: str, layer: str) -> None:
    assert layout.layer_of(name) == layer


@pytest.mark.parametrize("name", ["layers.one.e", "layers.1.experts.2.e", "a1b2.e", f"layers.{'1' * 5000}.e"])
def test_a_name_without_one_number_has_no_layer(name: str) -> None:
    with pytest.raises(LayoutError, match="in its name"):
        layout.layer_of(name)


# --- headers, with the safetensors package as the judge of what a file may be ---


def entry(dtype: str = "U8", shape: Any = (4,), offsets: Any = (0, 4)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def file_of(text: str, data: int = 4) -> bytes:
    raw = text.encode()
    return len(raw).to_bytes(8, "little") + raw + bytes(data)


BAD_FILES = {
    "hole": file_of(json.dumps({"a": entry(), "b": entry(offsets=(5, 9))}), 9),
    "overlap": file_of(json.dumps({"a": entry(), "b": entry(offsets=(3, 7))}), 7),
    "missing-bytes": file_of(json.dumps({"a": entry()}), 3),
    "trailing-bytes": file_of(json.dumps({"a": entry()}), 5),
    "size-of-shape": file_of(json.dumps({"a": entry(shape=(5,))})),
    "unknown-dtype": file_of(json.dumps({"a": entry(dtype="U7")})),
    "float-in-shape": file_of('{"a":{"dtype":"U8","shape":[4.0],"data_offsets":[0,4]}}'),
    "negative": file_of('{"a":{"dtype":"U8","shape":[-4],"data_offsets":[0,4]}}'),
    "bool": file_of('{"a":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}}', 1),
    "half-byte": file_of(json.dumps({"a": entry(dtype="F4", shape=(7,))})),
    "huge-shape": file_of(json.dumps({"a": entry(shape=(10**400,))})),
    "huge-tensor": file_of(json.dumps({"a": entry(shape=(1 << 62,) * 300)})),
    "huge-offset": file_of(json.dumps({"a": entry(shape=(10**400,), offsets=(0, 10**400))})),
    "no-json": file_of("{"),
    "a-list": file_of("[]", 0),
    "not-utf8": (9).to_bytes(8, "little") + b'{"\xff":1}  ',
    "metadata": file_of(json.dumps({"__metadata__": {"a": 1}}), 0),
    "no-offsets": file_of('{"a":{"dtype":"U8","shape":[4]}}'),
    "too-short": b"\x01\x00",
    "length-beyond-end": (1000).to_bytes(8, "little") + b"{}",
    "length-over-limit": (100_000_001).to_bytes(8, "little") + b"{}",
    "constant": file_of('{"a":{"dtype":"U8","shape":[NaN],"data_offsets":[0,4]}}'),
}
STRICTER = {
    "duplicate": file_of(
        '{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}'
    ),
    "leading-blank": file_of(' {"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}'),
    "surrogate": file_of('{"\\ud800":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}'),
    "deep": file_of('{"a":' + "[" * 100_000 + "]" * 100_000 + "}"),
}


def opens(data: bytes, path: Path) -> bool:
    path.write_bytes(data)
    try:
        with safe_open(path, framework="np"):
            return True
    except SafetensorError:
        return False


@pytest.mark.parametrize("case", BAD_FILES)
def test_what_readers_refuse_is_refused(case: str, tmp_path: Path) -> None:
    data = BAD_FILES[case]
    assert not opens(data, tmp_path / "a.safetensors")
    with pytest.raises(LayoutError) as caught:
        layout.read_shard("a.safetensors", data, len(data))
    assert "`a.safetensors`" in caught.value.message


@pytest.mark.parametrize("case", STRICTER)
def test_what_readers_read_in_two_ways_is_refused(case: str) -> None:
    with pytest.raises(LayoutError):
        layout.read_shard("a.safetensors", STRICTER[case], len(STRICTER[case]))


def test_what_readers_read_is_read_alike(tmp_path: Path) -> None:
    checkpoint = make(tmp_path, standard())
    names = sorted(set(checkpoint.shards.values()))
    assert len(names) == 3
    for name in names:
        path = checkpoint.snapshot / name
        data = path.read_bytes()
        found = layout.read_shard(name, data[: layout.header_size(name, data[:8], len(data))], len(data))
        with safe_open(path, framework="np") as judge:
            assert {tensor.name for tensor in found.tensors} == set(judge.keys())
            for tensor in found.tensors:
                view = judge.get_slice(tensor.name)
                assert (tensor.dtype, list(tensor.shape)) == (view.get_dtype(), view.get_shape())
                assert data[tensor.offset : tensor.offset + tensor.size] == checkpoint.rows(tensor.name, 0, tensor.rows)


def test_a_header_must_be_whole() -> None:
    start, _ = header(tables(1, 10))
    with pytest.raises(LayoutError, match="of its header"):
        layout.read_shard("a", start[:-1], len(start) + 2640)


# --- the index, and snapshots ---


def test_index_names_the_shards_to_read() -> None:
    weight_map = {"layers.1.engram.embed.w": "b", "layers.2.engram.embed.w": "a", "layers.1.mlp": "c"}
    assert layout.shards_in_index(json.dumps({"weight_map": weight_map}).encode(), GLOB) == ("a", "b")


def test_an_index_that_differs_from_the_headers_is_refused() -> None:
    found = layout.lay_out([shard(tables(1, 10))], GLOB, "floor", 2)
    weight, scale = (table.name for table in tables(1, 10))
    right = {weight: "a.safetensors", scale: "a.safetensors", "lm_head": "c.safetensors"}
    layout.check_index(json.dumps({"weight_map": right}).encode(), GLOB, found)
    for wrong in (
        {**right, scale: "b.safetensors"},
        {**right, "layers.2.engram.embed.w": "a.safetensors"},
        {weight: "a"},
    ):
        with pytest.raises(LayoutError):
            layout.check_index(json.dumps({"weight_map": wrong}).encode(), GLOB, found)


@pytest.mark.parametrize(
    "index",
    [b"{", b"[]", b"{}", b'{"weight_map": {}}', b'{"weight_map": {"layers.1.engram.embed.w": "../a"}}', b"\xff",
     b'{"weight_map": {"layers.1.engram.embed.w": 1}}'],
)  # fmt: skip
def test_a_bad_index_is_refused(index: bytes) -> None:
    with pytest.raises(LayoutError):
        layout.shards_in_index(index, GLOB)


def test_a_table_reshaped_changes_nothing_but_the_layout() -> None:
    shards = reshaped(standard(), "layers.1.engram.embed.scale", (2003, 4, 2))
    found = layout.lay_out([shard(tensors, name) for name, tensors in shards.items()], GLOB, "floor", 4)
    assert {table.row_size for table in found.tables} == {256, 8}


def test_snapshot_hash_is_over_names_sizes_and_ids() -> None:
    files = [SnapshotFile("b", 2, "git:" + "0" * 40), SnapshotFile("a", 1, None)]
    by_hand = (
        '{"files":[{"id":null,"name":"a","size":1},{"id":"git:'
        + "0" * 40
        + '","name":"b","size":2}],"format":"snapshot"}'
    )
    assert layout.snapshot_hash(files) == "sha256:" + hashlib.sha256(by_hand.encode()).hexdigest()


def test_include_and_exclude() -> None:
    assert layout.selected("a/b.json", (), ())
    assert layout.selected("a/b.json", ("*.json",), ())
    assert not layout.selected("a/b.json", ("*.txt",), ())
    assert not layout.selected("a/b.json", ("*.json",), ("a/*",))
