"""What the files beside the example recipes do."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rcc_node.layout import lay_out, read_shard
from tests.support import checkpoint
from tests.support.cli import clean_env
from tests.support.paths import RECIPES

ROWS = RECIPES / "dsv41-flash-wrapper" / "engram-rows.sh"


def run_wrapper(tmp_path: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The wrapper, with a `python3` whose module `sglang.launch_server` tells what it was given."""
    package = tmp_path / "site" / "sglang"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").touch()
    told = "import json, os, sys\nprint(json.dumps([os.environ['SPARK_ENGRAM_ROWS'], sys.argv[1:]]))\n"
    (package / "launch_server.py").write_text(told)
    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "python3").unlink(missing_ok=True)
    (programs / "python3").symlink_to(sys.executable)
    clean = clean_env(tmp_path, {"PYTHONPATH": str(tmp_path / "site"), **env})
    clean["PATH"] = f"{programs}:{clean['PATH']}"
    return subprocess.run(["sh", ROWS, *words], env=clean, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_the_wrapper_finds_the_rows_that_staging_packs(ranks: int, tmp_path: Path) -> None:
    made = checkpoint.make(tmp_path)
    shards = [
        read_shard(path.name, path.read_bytes(), path.stat().st_size)
        for path in sorted(made.snapshot.glob("*.safetensors"))
    ]
    layout = lay_out(shards, "layers.*.engram.embed.*", "base-rem", ranks)

    for rank in range(ranks):
        words = ["--model-path", str(made.snapshot), "--tp", "4"]
        done = run_wrapper(tmp_path, *words, NODE_RANK=str(rank), NNODES=str(ranks))

        assert done.returncode == 0, done.stderr
        rows, given = json.loads(done.stdout)
        expected = ",".join(f"{layer}:{low}:{high}" for layer, (low, high) in layout.ranks[rank].items())
        assert rows == expected
        assert given == words


def test_the_wrapper_refuses_tables_whose_weight_and_scale_differ_in_rows(tmp_path: Path) -> None:
    shards = checkpoint.reshaped(checkpoint.standard(), "layers.1.engram.embed.scale", (2002, 8))
    made = checkpoint.make(tmp_path, shards)

    done = run_wrapper(tmp_path, "--model-path", str(made.snapshot), NODE_RANK="0", NNODES="4")

    assert done.returncode == 1
    assert "weight and scale differ in rows" in done.stderr


def test_the_wrapper_needs_its_rank_and_a_snapshot(tmp_path: Path) -> None:
    without_rank = run_wrapper(tmp_path, "--model-path", str(tmp_path), NNODES="4")
    without_snapshot = run_wrapper(tmp_path, "--model-path", "org/name", NODE_RANK="0", NNODES="4")

    assert "the rank of this node is not set" in without_rank.stderr
    assert "--model-path names no folder: org/name" in without_snapshot.stderr
    assert without_rank.returncode != 0
    assert without_snapshot.returncode != 0
