"""Rows and snapshots on a node's disk, read by parties that know nothing of the packer."""

from __future__ import annotations

import json
import mmap
import os
import random
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from tests.support.checkpoint import COMMIT, SOURCE, Checkpoint, make, standard, tables
from tests.support.node import Node, rows_node, snapshot_node
from tests.support.skips import needs_root

WORLD = 4
FIRST, SECOND = 20_003, 30_002
TABLES = [f"layers.{layer}.engram.embed.{part}" for layer in (1, 14) for part in ("weight", "scale")]
INDEX = "model.safetensors.index.json"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    root = tmp_path_factory.mktemp("checkpoint")
    return make(root, standard(FIRST, SECOND), engram_quant={"weight": "F8_E4M3", "scale": "F8_E8M0"})


@pytest.fixture
def node(tmp_path: Path, checkpoint: Checkpoint) -> Node:
    return rows_node(tmp_path, checkpoint)


def expected_rows(rank: int) -> dict[str, list[int]]:
    """Rows of a rank by counting them out one at a time: base and remainder, said differently."""
    result = {}
    for layer, rows in (("1", FIRST), ("14", SECOND)):
        counts = [len(range(start, rows, WORLD)) for start in range(WORLD)]
        result[layer] = [sum(counts[:rank]), sum(counts[: rank + 1])]
    return result


def header_of(path: Path) -> tuple[int, dict[str, Any]]:
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return 8 + length, json.loads(file.read(length))


def staged_files(dst: Path) -> list[str]:
    return sorted(str(p.relative_to(dst)) for p in dst.rglob("*") if p.is_file() and ".rcc" not in p.parts)


def test_every_row_arrives_and_nothing_else(node: Node, checkpoint: Checkpoint) -> None:
    seen: dict[str, list[bytes]] = {name: [] for name in TABLES}
    for rank in range(WORLD):
        node.block["dst"] = str(node.root / f"rank{rank}")
        node.staged(rank=rank)
        rows = json.loads((node.dst / "engram-local.json").read_text())["layers"]
        assert rows == expected_rows(rank)
        for name in TABLES:
            low, high = rows[name.split(".")[1]]
            seen[name].append(check_table(node.dst, checkpoint, name, low, high))
        check_others_absent(node.dst, checkpoint)
    for name, parts in seen.items():
        whole = checkpoint.rows(name, 0, checkpoint.tensors[name].shape[0])
        assert b"".join(parts) == whole, f"the ranks' rows of {name} are not the table"


def check_table(dst: Path, checkpoint: Checkpoint, name: str, low: int, high: int) -> bytes:
    """A table as readers see it: the package reads its header, a memory map its rows at random; the rank's rows."""
    path = dst / checkpoint.shards[name]
    with safe_open(path, framework="np") as reader:
        view = reader.get_slice(name)
        assert view.get_shape() == list(checkpoint.tensors[name].shape)
    data, header = header_of(path)
    begin, end = header[name]["data_offsets"]
    row = (end - begin) // header[name]["shape"][0]
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
        for number in [low, high - 1, *random.sample(range(low, high), min(200, high - low))]:
            start = data + begin + number * row
            assert memory[start : start + row] == checkpoint.rows(name, number, number + 1)
        for number in [n for n in (low - 1, high) if 0 <= n < header[name]["shape"][0]]:
            start = data + begin + number * row
            assert memory[start : start + row] == bytes(row), "a neighbour's row is here too"
        return memory[data + begin + low * row : data + begin + high * row]


def check_others_absent(dst: Path, checkpoint: Checkpoint) -> None:
    others = [name for name in checkpoint.tensors if name not in TABLES]
    assert others
    for name in others:
        path = dst / checkpoint.shards[name]
        if path.exists():
            data, header = header_of(path)
            begin, end = header[name]["data_offsets"]
            assert path.read_bytes()[data + begin : data + end] == bytes(end - begin)


def test_sizes_header_and_disk_use(node: Node, checkpoint: Checkpoint) -> None:
    result = node.staged(rank=1)
    names = {checkpoint.shards[name] for name in TABLES}
    assert staged_files(node.dst) == sorted([*names, INDEX, "engram-local.json"])
    for name in names:
        source, copy = checkpoint.snapshot / name, node.dst / name
        assert copy.stat().st_size == source.stat().st_size
        length, _ = header_of(source)
        assert copy.read_bytes()[:length] == source.read_bytes()[:length]
    assert (node.dst / INDEX).read_bytes() == (checkpoint.snapshot / INDEX).read_bytes()
    used = sum((node.dst / name).stat().st_blocks * 512 for name in [*names, INDEX])
    rows = sum(264 * (high - low) for low, high in expected_rows(1).values())
    assert rows < result["staged"] < rows + 10_000, "the rows, two headers and the index"
    blocks_cut_in_two = 2 * 4096 * (len(TABLES) + len(names) + 1)
    assert result["staged"] <= used <= 1.01 * result["staged"] + blocks_cut_in_two


def test_manifest_and_stamp(node: Node) -> None:
    result = node.staged(rank=2)
    text = (node.dst / "engram-local.json").read_text()
    assert json.loads(text) == {
        "source": SOURCE,
        "layers": expected_rows(2),
        "quant": {"weight": "F8_E4M3", "scale": "F8_E8M0"},
        "layout": result["layout"],
    }
    assert str(node.root) not in text
    assert list(json.loads(text)["layers"]) == ["1", "14"]
    rows = ",".join(f"{layer}:{low}:{high}" for layer, (low, high) in expected_rows(2).items())
    assert node.stamp() == f"{result['layout']} 4 2 {rows}\n"
    assert result["rows"] == rows
    assert result["locked"] is False


def test_quant_is_null_where_the_config_has_none(tmp_path: Path) -> None:
    node = rows_node(tmp_path, make(tmp_path, standard(40, 50)), manifest="other.json", source=None)
    node.staged()
    manifest = json.loads((node.dst / "other.json").read_text())
    assert (manifest["quant"], manifest["source"]) == (None, None), "a path on this machine says nothing elsewhere"


def test_without_a_lock_it_says_so_and_with_one_it_does_not(node: Node) -> None:
    done = node.run("stage")
    assert "no lock" in done.stdout
    node.block["layout"] = node.stamp().split()[0]
    assert "no lock" not in node.run("stage").stdout


def test_the_second_run_checks_and_never_opens_the_source(node: Node, tmp_path: Path) -> None:
    assert node.staged()["state"] == "packed"
    node.block["src"] = "/nonexistent/snapshot"  # its lock says what it is, wherever it lies
    node.block["hf_cache"] = "/nonexistent"
    for arguments, checked_all in (((), False), (("--full",), True)):
        result = node.staged(*arguments)
        assert result["state"] == "verified"
        assert result["packed"] == 0
        assert not checked_all or result["checked"] == result["chunks"]
    assert node.run("verify", "--full").returncode == 0


def test_the_locked_layout_is_what_is_packed(node: Node) -> None:
    layout = node.staged()["layout"]
    node.block |= {"dst": str(node.root / "again"), "layout": layout, "rows": expected_rows(0)}
    assert node.staged()["layout"] == layout
    node.block |= {"dst": str(node.root / "third"), "layout": "sha256:" + "0" * 64}
    assert node.refused()["name"] == "source-changed"
    node.block |= {"layout": layout, "rows": {"1": [0, 5], "14": [0, 6]}}
    assert node.refused()["name"] == "rows-differ"
    assert staged_files(node.dst) == []


@pytest.mark.parametrize("change", ["rank", "world", "tiling", "source"])
def test_a_changed_plan_packs_again(node: Node, checkpoint: Checkpoint, change: str, tmp_path: Path) -> None:
    node.staged(rank=3)
    before = node.stamp()
    rank = 3
    if change == "rank":
        rank = 2
    elif change == "world":
        node.world = 5
    elif change == "tiling":
        node.block["tiling"] = "floor"
    else:
        other = make(tmp_path, standard(FIRST + 1, SECOND), seed=2)
        node.block |= {"src": str(other.snapshot), "hf_cache": str(other.cache), "source": "acme/tables@" + "f" * 40}
    assert node.staged(rank=rank)["state"] == "packed"
    assert node.stamp() != before
    assert node.staged("--full", rank=rank)["state"] == "verified"
    fresh = rows_node(tmp_path, checkpoint, **(node.block | {"dst": str(tmp_path / "fresh")}))
    fresh.world = node.world
    fresh.staged(rank=rank)
    for name in staged_files(fresh.dst):
        assert (node.dst / name).read_bytes() == (fresh.dst / name).read_bytes()
        assert (node.dst / name).stat().st_blocks == (fresh.dst / name).stat().st_blocks, "old rows are still there"
    assert staged_files(node.dst) == staged_files(fresh.dst)


def test_the_old_copy_stays_whole_until_the_new_one_is(node: Node, checkpoint: Checkpoint) -> None:
    node.staged(rank=0)
    before = {name: (node.dst / name).read_bytes() for name in staged_files(node.dst)}
    node.block["rate_limit"] = 1 << 20
    process = node.start("stage", rank=1)
    while not (node.ledger / "new" / "files").exists():
        assert process.poll() is None
    process.kill()
    process.communicate()
    assert {name: (node.dst / name).read_bytes() for name in staged_files(node.dst)} == before
    node.block["rate_limit"] = None
    assert node.staged(rank=0)["state"] == "verified"
    assert not (node.ledger / "new").exists(), "what the other plan left takes disk"


def test_an_untouched_file_of_a_new_commit_is_not_packed_again(tmp_path: Path) -> None:
    checkpoint = make(tmp_path, standard(400, 500))
    node = snapshot_node(tmp_path, checkpoint)
    whole = node.staged()["packed"]
    old = checkpoint.snapshot
    new = old.with_name("f" * 40)
    new.mkdir()
    for entry in old.iterdir():
        (new / entry.name).symlink_to(os.readlink(entry))
    (new / "config.json").unlink()
    (new / "config.json").write_text("{}")
    node.block |= {"src": str(new), "source": "acme/tables@" + "f" * 40}
    assert node.staged()["packed"] == 2 < whole
    assert (node.dst / "config.json").read_text() == "{}"
    assert node.staged("--full")["state"] == "verified"


def test_snapshot_is_whole_and_links_are_files(tmp_path: Path, checkpoint: Checkpoint) -> None:
    (checkpoint.snapshot / "sub").mkdir(exist_ok=True)
    (checkpoint.snapshot / "sub" / "empty.txt").touch()
    node = snapshot_node(tmp_path, checkpoint)
    node.staged(rank=1)
    names = sorted(
        str(path.relative_to(checkpoint.snapshot)) for path in checkpoint.snapshot.rglob("*") if path.is_file()
    )
    assert "sub/empty.txt" in names
    assert staged_files(node.dst) == names
    for name in names:
        assert (node.dst / name).read_bytes() == (checkpoint.snapshot / name).read_bytes()
        assert not (node.dst / name).is_symlink()
    assert node.stamp().split()[1:] == ["4", "1", "-"]
    result = node.staged(rank=2)
    assert result["state"] == "verified", "every rank's snapshot is the same"
    assert node.stamp().split()[1:] == ["4", "2", "-"]


def test_snapshot_globs(tmp_path: Path, checkpoint: Checkpoint) -> None:
    node = snapshot_node(tmp_path, checkpoint, include=["*.json", "*00001*"], exclude=["config*"])
    node.staged()
    assert staged_files(node.dst) == ["model-00001-of-00003.safetensors", INDEX]


def test_snapshot_content_is_the_lock_s(tmp_path: Path) -> None:
    """Where a cache has files instead of links, their bytes are hashed while they are staged."""
    import hashlib

    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a.bin").write_bytes(b"weights")
    (plain / "b.json").write_bytes(b"{}")
    files = [
        {"name": "a.bin", "size": 7, "id": "sha256:" + hashlib.sha256(b"weights").hexdigest()},
        {"name": "b.json", "size": 2, "id": "git:" + hashlib.sha1(b"blob 2\0{}").hexdigest()},
    ]
    node = snapshot_node(tmp_path, make(tmp_path, standard(3, 3)), src=str(plain), files=files)
    layout = node.staged()["layout"]
    (plain / "a.bin").write_bytes(b"WEIGHTS")
    node.block |= {"dst": str(tmp_path / "again"), "layout": layout}
    assert node.refused()["name"] == "source-changed"
    assert not (node.ledger / "stamp").exists()
    (plain / "a.bin").write_bytes(b"weights")
    node.staged()


def test_one_file_without_an_index(tmp_path: Path) -> None:
    checkpoint = make(tmp_path, {"model.safetensors": tables(3, 100)})
    (checkpoint.snapshot / INDEX).unlink()
    node = rows_node(tmp_path, checkpoint)
    node.staged(rank=3)
    assert staged_files(node.dst) == ["engram-local.json", "model.safetensors"]
    check_table(node.dst, checkpoint, "layers.3.engram.embed.weight", 75, 100)


def test_one_rank_gets_all_rows(tmp_path: Path) -> None:
    checkpoint = make(tmp_path, standard(33, 44))
    node = rows_node(tmp_path, checkpoint)
    node.world = 1
    node.staged()
    assert node.stamp().endswith(" 1 0 1:0:33,14:0:44\n")
    for name in TABLES:
        check_table(node.dst, checkpoint, name, 0, checkpoint.tensors[name].shape[0])


def test_fewer_rows_than_ranks(tmp_path: Path) -> None:
    checkpoint = make(tmp_path, standard(2, 3))
    node = rows_node(tmp_path, checkpoint)
    for rank, rows in enumerate(["1:0:1,14:0:1", "1:1:2,14:1:2", "1:2:2,14:2:3", "1:2:2,14:3:3"]):
        node.block["dst"] = str(tmp_path / f"rank{rank}")
        node.staged(rank=rank)
        assert node.stamp().split()[3] == rows
        assert node.staged("--full", rank=rank)["state"] == "verified"


def test_modes_and_names(node: Node) -> None:
    old = os.umask(0o077)
    try:
        node.staged()
    finally:
        os.umask(old)
    for path in node.dst.rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o755 if path.is_dir() else 0o644), path
    assert node.dst.stat().st_mode & 0o777 == 0o755


@needs_root
def test_owner_is_that_of_the_parent(node: Node) -> None:
    parent = node.root / "home"
    parent.mkdir()
    os.chown(parent, 1234, 2345)
    node.block["dst"] = str(parent / "a" / "b")
    node.staged()
    found = {(path.stat().st_uid, path.stat().st_gid) for path in parent.rglob("*")}
    assert found == {(1234, 2345)}


def test_plain_output_is_lines(node: Node) -> None:
    node.block["rate_limit"] = 100 << 20
    done = node.run("stage")
    assert done.returncode == 0
    assert "\r" not in done.stdout + done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "engram: 3.1 MiB packed" in done.stdout
    assert COMMIT not in done.stderr
