"""Runs `rcc-node.pyz` as a node does, on a `stage.json` made for a checkpoint."""

from __future__ import annotations

import atexit
import compileall
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from rcc_node.build import zipapp
from tests.support.checkpoint import SOURCE, Checkpoint


@cache
def program() -> str:
    """The archive's content, unpacked and compiled once: each of many runs starts in a third of the time."""
    folder = tempfile.mkdtemp(prefix="rcc-node-")
    atexit.register(shutil.rmtree, folder)
    with ZipFile(io.BytesIO(zipapp())) as archive:
        archive.extractall(folder)
    compileall.compile_dir(folder, quiet=2)
    return folder


@dataclass
class Node:
    """A node's folder, with the program and the `dst` in it. `block` is the one block of its plan."""

    root: Path
    block: dict[str, Any]
    world: int = 4
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def dst(self) -> Path:
        return Path(self.block["dst"])

    @property
    def ledger(self) -> Path:
        return self.dst / ".rcc"

    def command(self, *arguments: str, rank: int = 0, preflight: dict[str, Any] | None = None) -> list[str]:
        """The command line of a run, its `stage.json` written."""
        plan = {"version": 1, "id": "tables", "plan": None, "rank": rank, "world": self.world, "blocks": [self.block]}
        path = self.root / f"stage-{rank}.json"
        path.write_text(json.dumps(plan | ({"preflight": preflight} if preflight else {})))
        return [sys.executable, "-I", program(), *arguments, "--plan", str(path)]

    def run(
        self, *arguments: str, rank: int = 0, timeout: float = 60, preflight: dict[str, Any] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments, rank=rank, preflight=preflight),
            capture_output=True,
            text=True,
            timeout=timeout,
            env=os.environ | self.environment,
        )

    def run_without_plan(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-I", program(), *arguments], capture_output=True, text=True)

    def staged(self, *arguments: str, rank: int = 0) -> dict[str, Any]:
        """What `stage --json` says of the block, which must be staged."""
        done = self.run("stage", "--json", *arguments, rank=rank)
        assert done.returncode == 0, done.stderr
        (result,) = json.loads(done.stdout)["blocks"]
        assert isinstance(result, dict)
        return result

    def refused(self, *arguments: str, rank: int = 0, command: str = "stage", timeout: float = 60) -> dict[str, str]:
        """Name, message and help of the refusal that a run must end with."""
        done = self.run(command, "--json", *arguments, rank=rank, timeout=timeout)
        assert done.returncode == 1, (done.returncode, done.stdout, done.stderr)
        error = json.loads(done.stdout)["error"]
        assert error["help"]
        assert f"error[{error['name']}]: {error['message']}" in done.stderr
        assert isinstance(error, dict)
        return error

    def noted(self) -> int:
        """Bytes that the ledger of an unfinished stage says are on the disk."""
        path = self.ledger / "new" / "hashes"
        data = path.read_bytes() if path.exists() else b""
        lines = [data[start : start + 83] for start in range(0, len(data), 83)]
        return sum(int(line[:8], 16) for line in lines if line.strip(b"\0 \n"))

    def stamp(self) -> str:
        return (self.ledger / "stamp").read_text()

    def start(self, *arguments: str, rank: int = 0) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments, rank=rank),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | self.environment,
        )


def rows_node(root: Path, checkpoint: Checkpoint, **block: Any) -> Node:
    """A node that stages a checkpoint's engram rows."""
    base = {"id": "engram", "kind": "sparse-rows", "min_free": 0, "hf_cache": str(checkpoint.cache), "source": SOURCE}
    return Node(root, base | {"src": str(checkpoint.snapshot), "dst": str(root / "dst")} | block)


def snapshot_node(root: Path, checkpoint: Checkpoint, **block: Any) -> Node:
    """A node that stages a checkpoint whole."""
    base = {"id": "model", "kind": "snapshot", "serve": True, "min_free": 0, "source": SOURCE}
    return Node(root, base | {"src": str(checkpoint.snapshot), "dst": str(root / "dst")} | block)
