"""Kills at any instant: between any two changes of the disk, and at random while it packs."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.checkpoint import Checkpoint, make, standard
from tests.support.node import Node, rows_node, snapshot_node
from tests.support.paths import ROOT
from tests.support.wait import wait_for

KILLS = 50


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return make(tmp_path_factory.mktemp("checkpoint"), standard(20_003, 30_002))


def crashed(how: str, node: Node, *arguments: str, rank: int = 0) -> list[str]:
    watched = [] if how == "steps" else [str(node.ledger / "new" / "hashes")]
    stage = node.command("stage", *arguments, rank=rank)[3:]
    command = [sys.executable, "-m", "tests.support.crash", how, *watched, *stage]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def contents(dst: Path) -> dict[str, bytes]:
    return {str(p.relative_to(dst)): p.read_bytes() for p in dst.rglob("*") if p.is_file() and ".rcc" not in p.parts}


def reference(node: Node, rank: int) -> Node:
    """The same, staged in one go beside it."""
    other = Node(node.root, node.block | {"dst": str(node.root / f"reference{rank}"), "rate_limit": None})
    other.staged(rank=rank)
    return other


def check(node: Node, rank: int) -> None:
    expected = reference(node, rank)
    assert contents(node.dst) == contents(expected.dst)
    assert node.stamp() == expected.stamp()
    assert sorted(entry.name for entry in node.ledger.iterdir()) == ["hashes", "ledger.json", "lock", "stamp"]


def test_a_crash_between_any_two_steps_of_packing_and_replacing(node: Node) -> None:
    for rank in (0, 1):  # the second packs again over the first
        deaths, status = map(int, crashed("steps", node, rank=rank)[-1].split())
        assert status == 0
        assert deaths > 10, "it died where it should"
        check(node, rank)


def test_a_crash_between_any_two_steps_of_a_snapshot(tmp_path: Path) -> None:
    node = snapshot_node(tmp_path, make(tmp_path, standard(50, 60)))
    deaths, status = map(int, crashed("steps", node)[-1].split())
    assert (deaths > 10, status) == (True, 0)
    check(node, 0)


@pytest.mark.parametrize("damage", ["bytes", "ledger"])
def test_a_crash_between_any_two_steps_of_repairing(node: Node, damage: str) -> None:
    node.staged()
    if damage == "bytes":
        victim = node.dst / "model-00003-of-00003.safetensors"
        with open(victim, "r+b") as file:
            file.seek(1000)
            file.write(b"\xff\x00\xff")
    else:
        (node.ledger / "ledger.json").write_text("{}")
    deaths, status = map(int, crashed("steps", node, "--repair")[-1].split())
    assert (deaths > 5, status) == (True, 0)
    check(node, 0)


@pytest.fixture
def node(tmp_path: Path, checkpoint: Checkpoint) -> Node:
    return rows_node(tmp_path, checkpoint)


def test_fifty_kills_at_random_instants(node: Node) -> None:
    node.block["rate_limit"] = 400 << 10
    output = crashed(str(KILLS), node)
    assert output[-1] == str(KILLS), "each kill found it at work"
    assert not (node.ledger / "stamp").exists()
    noted = node.noted()
    assert noted > 200 << 10, "progress accumulates over the kills"
    node.block["rate_limit"] = None
    result = node.staged()
    assert result["state"] == "packed"
    assert result["packed"] <= result["staged"] - noted + (4 << 20), "at most the chunks in work are packed again"
    check(node, 0)


def test_kills_of_the_real_program_leave_nothing_behind(node: Node) -> None:
    node.block["rate_limit"] = 400 << 10
    for _ in range(5):
        kill_at_work(node)
        wait_for(lambda: not mentions(str(node.root)), "the reader to end with its packer")
    node.block["rate_limit"] = None
    node.staged()
    check(node, 0)


def kill_at_work(node: Node) -> None:
    before = node.noted()
    process = node.start("stage")
    wait_for(lambda: node.noted() > before or process.poll() is not None, "progress")
    time.sleep(random.uniform(0, 0.1))
    assert process.poll() is None
    process.kill()
    process.communicate()


def mentions(text: str) -> list[str]:
    """Command lines of running processes that have a text in them."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and process.name != str(os.getpid()):
            try:
                line = (process / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            found.extend([line] if text in line else [])
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_polite_stop_keeps_what_was_written_and_waits_for_no_chunk(node: Node, number: signal.Signals) -> None:
    node.block["rate_limit"] = 1 << 16  # the chunks in flight would take minutes
    process = node.start("stage")
    wait_for(lambda: node.noted() > 0, "progress")
    process.send_signal(number)
    _, errors = process.communicate(timeout=10)
    assert process.returncode == -number
    assert "run again to go on" in errors
    assert not (node.ledger / "stamp").exists()
