"""What is checked before an engine starts, each check with what is right and what is wrong; eviction and the GID."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from rcc_node import gid, preflight
from tests.support.checkpoint import make, standard
from tests.support.node import Node, rows_node

DIGEST = "sha256:" + "a" * 64


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return rows_node(tmp_path, make(tmp_path, standard(400, 500)))


def answers(node: Node, wanted: dict[str, Any], *arguments: str) -> dict[str, list[dict[str, Any]]]:
    """Each check's answers. The status must fit them, and each must be one line."""
    done = node.run("preflight", "--json", *arguments, preflight=wanted)
    found: dict[str, list[dict[str, Any]]] = {}
    checks = json.loads(done.stdout)["checks"]
    for answer in checks:
        found.setdefault(answer["check"], []).append(answer)
        assert "\n" not in answer["message"] + answer["help"]
        assert answer["ok"] or answer["help"], "it says what to do"
    assert done.returncode == (0 if all(answer["ok"] for answer in checks) else 1)
    assert len(done.stderr.splitlines()) == len(checks)
    return found


def only(node: Node, wanted: dict[str, Any], check: str, *arguments: str) -> dict[str, Any]:
    (answer,) = answers(node, wanted, "--skip", "rows", *arguments)[check]
    return answer


def test_rows_are_checked(node: Node) -> None:
    assert answers(node, {})["rows"][0]["ok"] is False
    node.staged()
    assert answers(node, {})["rows"][0]["ok"] is True
    (node.dst / "engram-local.json").unlink()
    assert answers(node, {})["rows"][0]["ok"] is False
    assert "rows" not in answers(node, {}, "--skip", "rows")


def test_pinned_files(node: Node) -> None:
    path = node.root / "launch.sh"
    path.write_text("exec true\n")
    pinned = {"files": [{"path": str(path), "sha256": hashlib.sha256(b"exec true\n").hexdigest()}]}
    assert only(node, pinned, "files")["ok"]
    path.write_text("exec false\n")
    assert not only(node, pinned, "files")["ok"]
    path.unlink()
    assert "is not there" in only(node, pinned, "files")["message"]


def test_ports(node: Node) -> None:
    with socket.socket() as listener, socket.socket() as free:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        free.bind(("127.0.0.1", 0))
        taken, port = listener.getsockname()[1], free.getsockname()[1]
        free.close()
        found = answers(node, {"ports": [taken, port]}, "--skip", "rows")["ports"]
        assert [answer["ok"] for answer in found] == [False, True]
        assert str(taken) in found[0]["message"]
        assert only(node, {"ports": [taken]}, "ports", "--own-port", str(taken))["ok"]


@pytest.mark.parametrize("unified", [True, False])
def test_memory(node: Node, unified: bool) -> None:
    assert only(node, {"memory": 1, "unified_memory": unified}, "memory")["ok"]
    wanted = only(node, {"memory": 1 << 60, "unified_memory": unified}, "memory")
    assert not wanted["ok"]
    assert ("MemFree" if unified else "MemAvailable") in wanted["message"]


def program(node: Node, name: str, script: str) -> Path:
    path = node.root / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    node.environment["PATH"] = f"{path.parent}:{os.environ['PATH']}"
    return path


def test_no_other_process_on_the_gpu(node: Node) -> None:
    program(node, "nvidia-smi", "exit 9")
    assert not only(node, {"gpu": True}, "gpu")["ok"]
    program(node, "nvidia-smi", "exit 0")
    assert only(node, {"gpu": True}, "gpu")["ok"]
    program(node, "nvidia-smi", '[ "$1" = --query-compute-apps=pid,process_name ] && echo "4711, python3"')
    busy = only(node, {"gpu": True}, "gpu")
    assert not busy["ok"]
    assert "4711, python3" in busy["message"]
    assert "gpu" not in answers(node, {}, "--skip", "rows")


def test_image_by_digest(node: Node) -> None:
    node.environment["RCC_DOCKER"] = str(program(node, "podman-or-so", "exit 1"))
    wanted = {"image": f"example.com/engine@{DIGEST}", "digest": DIGEST}
    missing = only(node, wanted, "image")
    assert not missing["ok"]
    assert f"podman-or-so pull example.com/engine@{DIGEST}" in missing["help"]
    program(
        node,
        "podman-or-so",
        f"""[ "$*" = "image inspect --format {{{{json .RepoDigests}}}} {wanted["image"]}" ] &&
        echo '["example.com/engine@{DIGEST}"]'""",
    )
    assert only(node, wanted, "image")["ok"]
    program(node, "podman-or-so", "echo '[]'")
    assert not only(node, wanted, "image")["ok"]


def test_paths_answer(node: Node) -> None:
    assert only(node, {"paths": [str(node.root)]}, "paths")["ok"]
    assert not only(node, {"paths": [str(node.root / "none")]}, "paths")["ok"]


def test_an_unknown_check_is_usage(node: Node) -> None:
    assert node.run("preflight", "--skip", "weather").returncode == 2
    assert set(preflight.CHECKS) == {"paths", "files", "image", "rows", "ports", "gpu", "gid", "memory"}


def cached(path: Path) -> int:
    """Pages of a file that the page cache holds, by mincore."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    size = path.stat().st_size
    pages = -(-size // mmap.PAGESIZE)
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), size) as memory:
        vector = (ctypes.c_ubyte * pages)()
        start = ctypes.c_char.from_buffer(memory)
        assert libc.mincore(ctypes.byref(start), ctypes.c_size_t(size), vector) == 0
        del start
    return sum(page & 1 for page in vector)


def test_evict_drops_snapshot_and_dst(node: Node) -> None:
    node.staged()
    shard = "model-00003-of-00003.safetensors"
    files = [(Path(node.block["src"]) / shard).resolve(), node.dst / shard]
    os.sync()
    for path in files:
        path.read_bytes()
        assert cached(path) > 0
    done = node.run("evict")
    assert done.returncode == 0, done.stderr
    for path in files:
        assert cached(path) == 0
    for path in files:
        path.read_bytes()
    only(node, {"memory": 1, "unified_memory": True}, "memory")
    assert [cached(path) for path in files] == [0, 0], "on unified memory the check evicts first"


def test_packing_leaves_nothing_in_the_page_cache(node: Node) -> None:
    shard = "model-00003-of-00003.safetensors"
    source = (Path(node.block["src"]) / shard).resolve()
    os.sync()
    node.run("evict")
    node.staged("--full")
    node.staged("--full")
    assert cached(node.dst / shard) == 0
    assert cached(source) <= 16, "a header's read-ahead at most"


# --- the GID: the search itself is enter's, and tested there ---


def table(root: Path, hca: str, index: int, address: str) -> None:
    port = root / "class" / "infiniband" / hca / "ports" / "1"
    (port / "gid_attrs" / "types").mkdir(parents=True)
    (port / "gids").mkdir()
    (port / "state").write_text("4: ACTIVE\n")
    octets = [int(part) for part in address.split(".")]
    mapped = "0000:0000:0000:0000:0000:ffff:{:02x}{:02x}:{:02x}{:02x}\n".format(*octets)
    (port / "gid_attrs" / "types" / str(index)).write_text("RoCE v2\n")
    (port / "gids" / str(index)).write_text(mapped)


def test_gid_runs_enter_s_search(node: Node) -> None:
    table(node.root, "rocep1s0f0", 3, "192.168.200.11")
    command = ["gid", "--hca", "rocep1s0f0", "--fabric", "192.168.200.11", "--sysfs", str(node.root)]
    done = node.run_without_plan(*command)
    assert (done.returncode, done.stdout) == (0, "3\n")
    assert gid.run("rocep1s0f0", "192.168.200.11", str(node.root)) == "3"
    done = node.run_without_plan(*command[:-3], "192.168.200.12", *command[-2:])
    assert done.returncode == 1
    assert "error[gid]" in done.stderr


def test_gids_that_differ_fail_only_who_needs_one(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    table(node.root, "mlx5_0", 3, "192.168.200.11")
    table(node.root, "mlx5_1", 5, "192.168.200.31")
    with pytest.raises(gid.DifferentGidsError):
        gid.run("mlx5_0,mlx5_1", "192.168.200.11", str(node.root))
