"""A NAS that hangs, fails or is slow, and what is asked of it: FUSE stands in."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support import fuse
from tests.support.checkpoint import Checkpoint, make, standard
from tests.support.fuse import Nas, nas
from tests.support.node import Node, rows_node, snapshot_node
from tests.support.wait import wait_for

pytestmark = pytest.mark.skipif(not fuse.available, reason="only root may mount /dev/fuse")

TEN_SECONDS = 10.0


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return make(tmp_path_factory.mktemp("checkpoint"), standard(20_003, 30_002))


@pytest.fixture
def mounted(checkpoint: Checkpoint, tmp_path: Path) -> Iterator[Nas]:
    with nas(checkpoint.cache, tmp_path / "nas") as found:
        yield found


def on_nas(node: Node, checkpoint: Checkpoint, mounted: Nas) -> Node:
    node.block |= {
        "src": str(mounted.path / checkpoint.snapshot.relative_to(checkpoint.cache)),
        "hf_cache": str(mounted.path),
    }
    return node


def test_the_source_s_bytes_are_read_once(checkpoint: Checkpoint, mounted: Nas, tmp_path: Path) -> None:
    node = on_nas(rows_node(tmp_path, checkpoint), checkpoint, mounted)
    result = node.staged(rank=1)
    read: dict[tuple[str, int], int] = {}
    for name, offset, size in mounted.reads():
        for block in range(offset // 4096, -(-(offset + size) // 4096)):
            read[name, block] = read.get((name, block), 0) + 1
    sizes = [os.path.getsize(checkpoint.cache / name) for name, _ in read]
    assert max(sizes) > 4 << 20
    twice = sum(count > 1 for count in read.values())
    assert twice < 40, "headers, the index and edges of chunks apart, no block is read twice"
    assert len(read) * 4096 < result["staged"] + 60 * 4096, "nothing else is read"
    before = len(mounted.reads())
    assert node.staged(rank=1)["state"] == "verified"
    assert len(mounted.reads()) == before


@pytest.mark.parametrize(("kind", "when"), [("rows", "at once"), ("rows", "half-way"), ("snapshot", "half-way")])
def test_a_silent_nas_is_a_message_in_ten_seconds(
    checkpoint: Checkpoint, mounted: Nas, tmp_path: Path, kind: str, when: str
) -> None:
    make_node = rows_node if kind == "rows" else snapshot_node
    node = on_nas(make_node(tmp_path, checkpoint), checkpoint, mounted)
    node.block["rate_limit"] = 1 << 20
    if when == "at once":
        mounted.fall_silent()
    process = node.start("stage")
    if when == "half-way":
        wait_for(lambda: node.noted() > 200_000, "progress")
        mounted.fall_silent()
    start = time.monotonic()
    _, errors = process.communicate(timeout=30)  # waits for the pipes, which the stuck reader must not hold
    assert time.monotonic() - start < TEN_SECONDS
    assert process.returncode == 1
    assert "error[source-silent]" in errors
    assert str(mounted.path) in errors
    assert "check that the NAS" in errors
    with open(node.ledger / "lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the stuck reader must not hold it


def test_what_is_staged_needs_no_nas(checkpoint: Checkpoint, mounted: Nas, tmp_path: Path) -> None:
    node = on_nas(snapshot_node(tmp_path, checkpoint), checkpoint, mounted)
    node.staged()
    mounted.fall_silent()
    start = time.monotonic()
    assert node.staged()["state"] == "verified"
    assert node.run("verify", "--full").returncode == 0
    assert time.monotonic() - start < TEN_SECONDS


def test_other_commands_do_not_hang_either(checkpoint: Checkpoint, mounted: Nas, tmp_path: Path) -> None:
    node = on_nas(rows_node(tmp_path, checkpoint), checkpoint, mounted)
    mounted.fall_silent()
    start = time.monotonic()
    evict = node.start("evict")
    done = node.run("preflight", "--skip", "rows", preflight={"paths": [str(mounted.path)]})
    assert done.returncode == 1
    assert f"FAIL  paths: `{mounted.path}` has not answered" in done.stdout
    assert "error[source-silent]" in evict.communicate()[1]
    assert time.monotonic() - start < TEN_SECONDS


def test_a_source_that_cannot_be_read_half_way(checkpoint: Checkpoint, tmp_path: Path) -> None:
    node = rows_node(tmp_path, checkpoint, rate_limit=4 << 20)  # so that some of it is written by then
    with nas(checkpoint.cache, tmp_path / "nas", fail_after=2 << 20) as failing:
        error = on_nas(node, checkpoint, failing).refused()
    assert error["name"] == "source-unreadable"
    assert "Input/output error" in error["message"]
    assert "model-0000" in error["message"]
    assert not (node.ledger / "stamp").exists()
    noted = node.noted()
    assert noted > 0
    node.block |= {"src": str(checkpoint.snapshot), "hf_cache": str(checkpoint.cache)}
    result = node.staged()
    assert result["packed"] == result["staged"] - noted


@pytest.mark.parametrize("name", ["config.json", "model-00003-of-00003.safetensors"])
def test_a_pipe_in_the_snapshot_is_no_file(tmp_path: Path, name: str) -> None:
    checkpoint = make(tmp_path, standard(40, 50))
    (checkpoint.snapshot / name).unlink()
    os.mkfifo(checkpoint.snapshot / name)
    start = time.monotonic()
    assert rows_node(tmp_path, checkpoint).refused()["name"] == "source-unreadable"
    assert time.monotonic() - start < TEN_SECONDS


def test_rate_limit_without_bursts(checkpoint: Checkpoint, mounted: Nas, tmp_path: Path) -> None:
    rate = 2 << 20
    node = on_nas(rows_node(tmp_path, checkpoint, rate_limit=rate), checkpoint, mounted)
    process = node.start("stage")
    samples: list[tuple[float, int]] = []
    while process.poll() is None:
        samples.append((time.monotonic(), sum(size for _, _, size in mounted.reads())))
        time.sleep(0.02)
    process.communicate()
    assert process.returncode == 0
    for (start, before), (_, after) in pairwise(samples):
        within = [count for moment, count in samples if start <= moment <= start + 0.5]
        assert within[-1] - before <= rate * 0.5 + 2 * rate * 0.1, "more than half a second's worth and a burst"
        assert after >= before
    assert samples[-1][1] > 3 << 20
