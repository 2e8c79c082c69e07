"""Disks, folders and neighbours that misbehave: nothing is reported staged that is not, and each refusal says why."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.checkpoint import SOURCE, Checkpoint, TensorSpec, make, reshaped, standard, tables
from tests.support.mounts import mount, tmpfs
from tests.support.node import Node, rows_node, snapshot_node
from tests.support.paths import ROOT
from tests.support.skips import needs_root
from tests.support.wait import wait_for

SHARD = "model-00003-of-00003.safetensors"
STAMP_SH = ROOT / "targets" / "rcc_node" / "enter" / "stamp.sh"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return make(tmp_path_factory.mktemp("checkpoint"), standard(20_003, 30_002))


@pytest.fixture
def own(tmp_path: Path) -> Checkpoint:
    """A checkpoint that a test may change."""
    return make(tmp_path, standard(20_003, 30_002))


@pytest.fixture
def node(tmp_path: Path, checkpoint: Checkpoint) -> Node:
    return rows_node(tmp_path, checkpoint)


def not_staged(node: Node) -> bool:
    return not (node.ledger / "stamp").exists() and not (node.dst / "engram-local.json").exists()


def begun(node: Node) -> None:
    """Leaves a stage that is packed in part."""
    node.block["rate_limit"] = 2 << 20
    process = node.start("stage")
    wait_for(lambda: node.noted() > 100_000 or process.poll() is not None, "progress")
    process.kill()
    process.communicate()
    assert not_staged(node)
    node.block["rate_limit"] = None


def same_as_fresh(node: Node) -> bool:
    fresh = Node(node.root, node.block | {"dst": str(node.root / "fresh")})
    fresh.staged()
    names = [path.name for path in fresh.dst.iterdir() if path.is_file()]
    return bool(names) and all((node.dst / name).read_bytes() == (fresh.dst / name).read_bytes() for name in names)


# --- space and file systems ---


@needs_root
def test_a_disk_that_fills_up_half_way(node: Node) -> None:
    with tmpfs(node.root / "small", "2m") as small:
        node.block |= {"dst": str(small / "dst"), "rate_limit": 8 << 20}
        assert node.refused()["name"] == "no-space"
        assert not_staged(node)
        noted = node.noted()
        assert noted > 0
        mount("-o", "remount,size=64m", str(small))
        result = node.staged()
        assert result["packed"] <= result["staged"] - noted + (1 << 20), "what was written is kept"
        assert same_as_fresh(node)


def test_too_little_space_is_refused_before_anything_is_written(node: Node) -> None:
    node.block["min_free"] = 1 << 60
    error = node.refused()
    assert error["name"] == "no-space"
    assert "free" in error["message"]
    assert not (node.ledger / "new" / "files").exists()
    node.block["min_free"] = 0
    node.staged()
    node.block["min_free"] = 1 << 60
    assert node.staged()["state"] == "verified", "nothing is to be packed, so no space is asked for"


@needs_root
def test_min_free_counts_what_is_there(node: Node) -> None:
    with tmpfs(node.root / "small", "16m") as small:
        node.block["dst"] = str(small / "dst")
        begun(node)
        there = os.statvfs(small).f_bavail * 4096 + node.noted()
        node.block["min_free"] = there + (64 << 10)
        assert node.refused()["name"] == "no-space"
        node.block["min_free"] = there - (64 << 10)
        node.staged()


@needs_root
def test_another_file_system_and_a_read_only_one(node: Node) -> None:
    with tmpfs(node.root / "other", "64m") as other:
        node.block["dst"] = str(other / "dst")
        for _ in range(2):  # dst is not there, then it is and empty
            mount("-o", "remount,ro", str(other))
            assert node.refused()["name"] == "dst-read-only"
            mount("-o", "remount,rw", str(other))
            node.dst.mkdir(exist_ok=True)
        node.staged()
        assert same_as_fresh(node)
        mount("-o", "remount,ro", str(other))
        assert node.staged()["state"] == "verified"
        assert node.refused(rank=1)["name"] == "dst-read-only"
        assert node.run("verify", "--full").returncode == 0


# --- what is at dst ---


def test_dst_may_be_a_link_and_nothing_below_it(node: Node) -> None:
    real = node.root / "disk"
    real.mkdir()
    node.dst.symlink_to(real)
    node.staged()
    assert (real / ".rcc" / "stamp").exists()
    assert node.dst.is_symlink()
    copy = node.root / "elsewhere"
    (real / SHARD).rename(copy)
    (real / SHARD).symlink_to(copy)
    assert node.refused()["name"] == "dst-link"
    assert node.refused("--repair")["name"] == "dst-link"
    assert node.refused(command="verify")["name"] == "dst-link"


def test_a_ledger_behind_a_link_is_refused(node: Node) -> None:
    elsewhere = node.root / "elsewhere"
    elsewhere.mkdir()
    node.dst.mkdir()
    node.ledger.symlink_to(elsewhere)
    assert node.refused()["name"] == "dst-link"
    assert not list(elsewhere.iterdir())


def test_a_folder_of_somebody_else_is_left_alone(node: Node) -> None:
    node.dst.mkdir()
    (node.dst / "thesis.txt").write_text("mine")
    for arguments in ((), ("--full",), ("--repair",)):
        error = node.refused(*arguments)
        assert error["name"] == "dst-foreign"
        assert "thesis.txt" in error["message"]
    assert [path.name for path in node.dst.iterdir()] == ["thesis.txt"]
    assert node.refused(command="verify")["name"] == "not-staged"


def test_dst_is_a_file(node: Node) -> None:
    node.dst.write_text("mine")
    for command in ("stage", "verify"):
        error = node.refused(command=command)
        assert (error["name"], error["message"]) == ("dst-foreign", f"`{node.dst}` is no folder")


def test_a_folder_where_a_file_belongs(node: Node) -> None:
    node.staged()
    (node.dst / SHARD).unlink()
    (node.dst / SHARD).mkdir()
    assert node.refused()["name"] == "staged-damaged"
    error = node.refused("--repair")
    assert error["name"] == "dst-foreign"
    assert "a folder where a file belongs" in error["message"]


@pytest.mark.parametrize("below", ["", "dst"])
def test_dst_on_the_source_is_refused(own: Checkpoint, tmp_path: Path, below: str) -> None:
    node = rows_node(tmp_path, own, dst=str(own.snapshot / below))
    assert node.refused()["name"] == "dst-on-source"
    link = tmp_path / "innocent"
    link.symlink_to(own.snapshot)
    node.block["dst"] = str(link / below)
    assert node.refused()["name"] == "dst-on-source"
    assert not (own.snapshot / ".rcc").exists()
    assert not (own.snapshot / "dst").exists(), "nothing is made in the source"


def started(node: Node, wanted: str) -> subprocess.CompletedProcess[str]:
    """What the container's start says of the node's `dst`, where its artifact has the stamp `wanted`."""
    script = f'{STAMP_SH.read_text()}\nstamped "$1" "$2"'
    command = ["/bin/sh", "-c", script, "enter", str(node.dst), wanted.strip()]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_stage_from_before_the_lock_changed_is_refused_at_the_engine_s_start(node: Node) -> None:
    old = node.staged()["layout"]
    assert started(node, node.stamp()).returncode == 0
    changed = started(node, node.stamp().replace(old, "sha256:" + "0" * 64))
    assert changed.returncode == 1
    assert old in changed.stderr


def test_another_rank_s_copy_is_refused_at_the_engine_s_start(node: Node) -> None:
    node.staged(rank=1)
    wanted = node.stamp()
    other = Node(node.root, node.block | {"dst": str(node.root / "rank2")})
    other.staged(rank=2)
    shutil.rmtree(node.dst)
    other.dst.rename(node.dst)
    done = started(node, wanted)
    assert done.returncode == 1
    assert " 4 2 " in done.stderr
    assert node.refused(command="verify", rank=1)["name"] == "not-staged"
    assert node.staged(rank=1)["state"] == "packed"


# --- two at once ---


def test_a_second_packer_waits_and_names_the_first(node: Node) -> None:
    node.block["rate_limit"] = 2 << 20
    first = node.start("stage")
    wait_for(lambda: node.noted() > 0, "the first packer's progress")
    error = node.refused("--no-wait")
    assert error["name"] == "dst-busy"
    assert f"process {first.pid}" in error["message"]
    second = node.start("stage", "--json")
    output, errors = second.communicate(timeout=60)
    assert first.wait(timeout=60) == 0
    first.communicate()
    assert second.returncode == 0
    assert f"in use by process {first.pid}" in errors
    assert json.loads(output)["blocks"][0]["state"] == "verified"


# --- damage ---


def flip(path: Path, offset: int) -> None:
    with open(path, "r+b") as file:
        file.seek(offset)
        (byte,) = file.read(1)
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


def middle_of_rows(node: Node, checkpoint: Checkpoint) -> int:
    low, high = json.loads((node.dst / "engram-local.json").read_text())["layers"]["14"]
    return checkpoint.offsets["layers.14.engram.embed.weight"] + int(low + high) // 2 * 256


def test_a_flipped_bit_is_found_and_mended_alone(node: Node, checkpoint: Checkpoint) -> None:
    result = node.staged(rank=1)
    offset = middle_of_rows(node, checkpoint)
    flip(node.dst / SHARD, offset)
    chunk = f"(bytes {offset >> 20 << 20} to "
    for arguments in (("--full",), ()):
        error = node.refused(*arguments, rank=1)  # so few chunks are all in the sample
        assert error["name"] == "staged-damaged"
        assert chunk in error["message"]
        assert SHARD in error["message"]
    assert node.refused("--full", command="verify", rank=1)["name"] == "staged-damaged"
    mended = node.staged("--repair", rank=1)
    assert mended["state"] == "repaired"
    assert 0 < mended["packed"] <= 1 << 20 < result["staged"]
    assert node.staged("--full", rank=1)["state"] == "verified"
    assert (node.dst / "engram-local.json").exists()


@pytest.mark.parametrize("damage", ["missing", "short", "zeros"])
def test_a_file_that_is_gone_or_cut_is_mended(node: Node, damage: str) -> None:
    node.staged()
    path = node.dst / SHARD
    if damage == "missing":
        path.unlink()
    elif damage == "short":
        os.truncate(path, path.stat().st_size - 1)
    else:
        size = path.stat().st_size
        os.truncate(path, 0)
        os.truncate(path, size)
    assert node.refused()["name"] == "staged-damaged"
    assert node.staged("--repair")["state"] == "repaired"
    assert same_as_fresh(node)


@pytest.mark.parametrize("name", ["engram-local.json", ".rcc/stamp"])
def test_a_manifest_or_stamp_that_was_edited(node: Node, name: str) -> None:
    node.staged()
    before = (node.dst / name).read_text()
    (node.dst / name).write_text(before.replace("0", "1"))
    assert node.refused()["name"] == "staged-damaged"
    node.staged("--repair")
    assert (node.dst / name).read_text() == before


def test_a_missing_stamp_has_every_byte_checked(node: Node, checkpoint: Checkpoint) -> None:
    node.staged()
    stamp = node.stamp()
    flip(node.dst / SHARD, middle_of_rows(node, checkpoint))
    (node.ledger / "stamp").unlink()
    assert node.staged()["state"] == "repaired"
    assert node.stamp() == stamp
    (node.ledger / "stamp").unlink()
    result = node.staged()
    assert (result["state"], result["checked"]) == ("verified", result["chunks"])


@pytest.mark.parametrize("damage", ["garbage", "empty", "other-version", "no-hashes"])
def test_a_corrupt_ledger_proves_nothing(node: Node, damage: str) -> None:
    node.staged()
    head = node.ledger / "ledger.json"
    if damage == "no-hashes":
        (node.ledger / "hashes").unlink()
    elif damage == "other-version":
        head.write_text(head.read_text().replace('"version": 1', '"version": 2'))
    else:
        head.write_bytes(b"\xff\x00{" if damage == "garbage" else b"")
    assert node.refused()["name"] == "ledger-damaged"
    assert node.refused(command="verify")["name"] == "not-staged"
    assert node.staged("--repair")["state"] == "repaired"
    assert node.staged("--full")["state"] == "verified"
    assert same_as_fresh(node)


@pytest.mark.parametrize("damage", ["flip", "cut", "swap"])
def test_corrupt_hashes_are_found_and_mended(node: Node, damage: str) -> None:
    node.staged()
    path = node.ledger / "hashes"
    lines = path.read_bytes().splitlines(keepends=True)
    if damage == "flip":
        flip(path, len(lines[0]) + 20)
    elif damage == "cut":
        os.truncate(path, path.stat().st_size - 10)
    else:
        path.write_bytes(b"".join([lines[1], lines[0], *lines[2:]]))
    assert node.refused()["name"] == "staged-damaged"
    assert node.staged("--repair")["state"] == "repaired"
    assert node.staged("--full")["state"] == "verified"


def test_a_corrupt_ledger_of_work_in_progress_starts_it_anew(node: Node) -> None:
    begun(node)
    (node.ledger / "new" / "ledger.json").write_text("{")
    result = node.staged()
    assert result["packed"] == result["staged"]
    assert same_as_fresh(node)


# --- a source that changes ---


def rewrite(checkpoint: Checkpoint, shard: str, data: bytes) -> None:
    """New bytes under the same blob's name."""
    (checkpoint.snapshot / shard).resolve().write_bytes(data)


@pytest.mark.parametrize("change", ["truncated", "grown", "header", "blob"])
def test_a_source_that_changed_half_way_is_refused(own: Checkpoint, tmp_path: Path, change: str) -> None:
    node = rows_node(tmp_path, own)
    begun(node)
    entry = own.snapshot / SHARD
    data = entry.read_bytes()
    if change == "truncated":
        rewrite(own, SHARD, data[:-100])
    elif change == "grown":
        rewrite(own, SHARD, data + b"x")
    elif change == "header":
        rewrite(own, SHARD, data.replace(b"layers.13.odd", b"layers.13.new"))
    else:
        blob = entry.resolve()
        other = blob.with_name("f" * 64)
        shutil.copy(blob, other)
        entry.unlink()
        entry.symlink_to(os.path.relpath(other, entry.parent))
    error = node.refused()
    assert error["name"] == ("layout" if change in ("truncated", "grown") else "source-changed")
    assert SHARD in error["message"]
    assert not_staged(node)


def test_time_stamps_mean_nothing(own: Checkpoint, tmp_path: Path) -> None:
    node = rows_node(tmp_path, own)
    begun(node)
    for entry in own.snapshot.iterdir():
        os.utime(entry, (4e9, 4e9))
    result = node.staged()
    assert result["packed"] < result["staged"]
    for path in node.dst.rglob("*"):
        os.utime(path, (1, 1))
    assert node.staged()["state"] == "verified"


def test_a_clock_that_goes_backwards(node: Node) -> None:
    node.block["rate_limit"] = 20 << 20
    _, _, program, *arguments = node.command("stage")
    code = (
        "import runpy, sys, time\n"
        "now = [4e9]\n"
        "def backwards():\n"
        "    now[0] -= 1000\n"
        "    return now[0]\n"
        "time.time = backwards\n"
        "time.time_ns = lambda: int(backwards() * 1e9)\n"
        f"sys.argv = {[program, *arguments]!r}\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert same_as_fresh(node)


def test_repair_refuses_a_source_with_other_bytes(own: Checkpoint, tmp_path: Path) -> None:
    node = rows_node(tmp_path, own)
    node.staged()
    offset = middle_of_rows(node, own)
    flip((own.snapshot / SHARD).resolve(), offset)
    flip(node.dst / SHARD, offset + 1)
    assert node.refused("--repair")["name"] == "source-changed"
    flip((own.snapshot / SHARD).resolve(), offset)
    assert node.staged("--repair")["state"] == "repaired"


def test_a_rank_change_from_a_source_that_changed_under_its_commit_is_refused(own: Checkpoint, tmp_path: Path) -> None:
    node = rows_node(tmp_path, own)
    node.staged(rank=0)
    data = (own.snapshot / SHARD).read_bytes()
    rewrite(own, SHARD, data.replace(b"layers.13.odd", b"layers.13.new"))
    assert node.refused(rank=1)["name"] == "source-changed"
    assert node.staged(rank=0)["state"] == "verified", "the old copy is as it was"


@pytest.mark.parametrize("name", [b".rcc/stamp", b".rcc/ledger.json", b"no \xff text"])
def test_a_snapshot_s_file_that_cannot_stand_in_dst(own: Checkpoint, tmp_path: Path, name: bytes) -> None:
    path = Path(os.fsdecode(os.fsencode(own.snapshot) + b"/" + name))
    path.parent.mkdir(exist_ok=True)
    path.write_text("from the model's repository")
    node = snapshot_node(tmp_path, own)
    error = node.refused()
    assert error["name"] == "source-name"
    assert "`exclude`" in error["help"]
    assert not_staged(node)
    node.block["exclude"] = [".rcc/*", "no *"]
    assert node.staged()["state"] == "packed"
    assert node.staged("--full")["state"] == "verified"


@pytest.mark.parametrize("text", ['{"engram_quant": "\\ud800"}', '{"engram_quant": NaN}', "[" * 100_000, "{"])
def test_a_configuration_that_no_manifest_could_repeat(own: Checkpoint, tmp_path: Path, text: str) -> None:
    (own.snapshot / "config.json").unlink()
    (own.snapshot / "config.json").write_text(text)
    node = rows_node(tmp_path, own)
    assert node.refused()["name"] == "config-unreadable"
    assert not_staged(node)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"stamp": 1, "manifest": null, "obsolete": []}'])
def test_a_corrupt_note_of_a_replacement_is_told_of(node: Node, text: str) -> None:
    node.staged()
    (node.ledger / "new").mkdir()
    (node.ledger / "new" / "replacing").write_text(text)
    error = node.refused()
    assert error["name"] == "ledger-damaged"
    assert f"remove `{node.dst}`" in error["help"]


@pytest.mark.parametrize("name", ["../precious", "/precious", "a/../../precious"])
def test_what_is_noted_in_dst_never_leads_out_of_it(node: Node, name: str) -> None:
    node.staged()
    precious = node.dst.parent / "precious"
    precious.write_text("mine")
    (node.ledger / "new").mkdir()
    mark = {"stamp": node.stamp(), "manifest": None, "obsolete": [name]}
    (node.ledger / "new" / "replacing").write_text(json.dumps(mark))
    error = node.refused()
    assert error["name"] == "ledger-damaged"
    assert name in error["message"]
    assert precious.read_text() == "mine"


@pytest.mark.parametrize("case", ["scale-rows", "two-shards", "no-tables", "no-snapshot", "outside"])
def test_checkpoints_that_cannot_be_staged(tmp_path: Path, case: str) -> None:
    shards = standard(40, 50)
    weight, scale = tables(1, 40)
    if case == "scale-rows":
        shards = reshaped(shards, scale.name, (39, 8))
    elif case == "two-shards":
        shards = {"a.safetensors": [weight], "b.safetensors": [scale]}
    elif case == "no-tables":
        shards = {"a.safetensors": [TensorSpec("lm_head", "BF16", (2, 2))]}
    checkpoint = make(tmp_path, shards)
    node = rows_node(tmp_path, checkpoint)
    if case == "no-snapshot":
        node.block["src"] += "0"
    elif case == "outside":
        target = tmp_path / "outside"
        target.write_bytes((checkpoint.snapshot / SHARD).read_bytes())
        (checkpoint.snapshot / SHARD).unlink()
        (checkpoint.snapshot / SHARD).symlink_to(target)
    name = {"no-snapshot": "source-missing", "outside": "source-outside"}.get(case, "layout")
    assert node.refused()["name"] == name
    assert not_staged(node)


# --- other tools' copies ---


def by_another_tool(node: Node) -> None:
    """A copy like the one that a launcher's script makes: the same bytes, its own manifest and modes."""
    node.staged()
    shutil.rmtree(node.ledger)
    manifest = json.loads((node.dst / "engram-local.json").read_text())
    manifest |= {"created": "2026-09-26", "note": "made by hand", "source": "/mnt/nas/somewhere"}
    (node.dst / "engram-local.json").write_text(json.dumps(manifest))
    (node.dst / SHARD).chmod(0o600)


def test_a_copy_of_another_tool_is_adopted(node: Node) -> None:
    by_another_tool(node)
    before = (node.dst / SHARD).stat()
    assert node.refused()["name"] == "dst-foreign"
    assert node.staged("--adopt")["state"] == "adopted"
    after = (node.dst / SHARD).stat()
    assert (after.st_ino, after.st_blocks, after.st_mtime) == (before.st_ino, before.st_blocks, before.st_mtime)
    assert after.st_mode & 0o777 == 0o644
    assert json.loads((node.dst / "engram-local.json").read_text())["source"] == SOURCE
    assert node.staged("--full")["state"] == "verified"
    assert same_as_fresh(node)


@pytest.mark.parametrize("damage", ["flip", "missing", "rank"])
def test_a_copy_that_differs_is_not_adopted(node: Node, checkpoint: Checkpoint, damage: str) -> None:
    by_another_tool(node)
    if damage == "flip":
        flip(node.dst / SHARD, middle_of_rows(node, checkpoint))
    elif damage == "missing":
        (node.dst / SHARD).unlink()
    rank = 1 if damage == "rank" else 0
    assert node.refused("--adopt", rank=rank)["name"] == "adopt-differs"
    assert not (node.ledger / "stamp").exists()
    assert node.refused(rank=rank)["name"] == "dst-foreign", "what was begun does not make it ours"
    if damage != "rank":
        assert node.staged("--adopt", "--repair")["state"] == "repaired"
        assert same_as_fresh(node)


# --- running containers ---


@pytest.fixture
def docker(node: Node) -> Path:
    """A docker program that says a container has the node's `dst` mounted while the file `running` is there."""
    program = node.root / "docker"
    mounts = json.dumps([{"Type": "bind", "Source": str(node.dst), "Destination": "/engram-local"}])
    program.write_text(
        f"#!/bin/sh\n[ -e {node.root}/running ] || exit 0\n"
        "case $1 in ps) echo 0000dead 0123abcd ;; inspect)\n"
        'case "$*" in *0000dead*) echo no such object >&2; exit 1 ;; esac\n'  # it has ended meanwhile
        f"printf '%s\\n' '/tables-rank0 {mounts}' ;; esac\n"
    )
    program.chmod(0o755)
    node.environment["RCC_DOCKER"] = str(program)
    return node.root / "running"


def test_what_a_running_container_reads_is_not_packed_again(node: Node, docker: Path, checkpoint: Checkpoint) -> None:
    node.staged(rank=0)
    before = node.stamp()
    docker.touch()
    assert node.staged(rank=0)["state"] == "verified"
    error = node.refused(rank=1)
    assert error["name"] == "dst-in-use"
    assert "`tables-rank0`" in error["message"]
    assert node.stamp() == before
    flip(node.dst / SHARD, middle_of_rows(node, checkpoint))
    assert node.refused("--repair")["name"] == "dst-in-use"
    docker.unlink()
    assert node.staged("--repair")["state"] == "repaired"
    assert node.staged(rank=1)["state"] == "packed"


@pytest.mark.parametrize("program", ["/nonexistent/docker", "false", "echo"])
def test_a_docker_that_cannot_be_asked_hinders_nothing(node: Node, program: str) -> None:
    node.environment["RCC_DOCKER"] = program
    node.staged(rank=0)
    assert node.staged(rank=1)["state"] == "packed"


# --- serving from dst ---


def test_a_served_snapshot_needs_no_source_to_start(own: Checkpoint, tmp_path: Path) -> None:
    node = snapshot_node(tmp_path, own)
    node.staged()
    shutil.rmtree(own.cache)
    assert node.staged()["state"] == "verified"
    assert node.run("verify").returncode == 0
    assert json.loads((node.dst / "config.json").read_text()) == {"model_type": "tables"}
