"""From a recipe to a build on two machines: the same registry and hub give the same locks and results."""

import json
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.support.cli import run_rcc
from tests.support.hub import Hub
from tests.support.locks import RECIPE, small_hub
from tests.support.oci import Blobs
from tests.support.registry import Registry, needs_registry, run_registry
from tests.support.skips import require

CLUSTER = """
name = "two"
hf_cache = "/mnt/hf"
hardware = "cuda"
[[nodes]]
name = "n1"
host = "10.0.0.11"
fabric = "192.168.200.11"
[[nodes]]
name = "n2"
host = "10.0.0.12"
fabric = "192.168.200.12"
"""
SURROUNDINGS = (
    {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1", "LOGNAME": "one"},
    {"TZ": "Asia/Kathmandu", "LC_ALL": "C", "PYTHONHASHSEED": "2", "LOGNAME": "two", "USER": "two"},
)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    require("docker-registry", "skopeo")
    blobs = Blobs()
    layout = blobs.write_layout(tmp_path / "layout", {"1": blobs.multi_arch()})
    with run_registry(tmp_path) as running:
        running.push(layout, "1", "spark/serve:1")
        yield running


@pytest.fixture
def hub() -> Iterator[Hub]:
    with small_hub() as running:
        yield running


@needs_registry
def test_two_clones_give_the_same_bytes(registry: Registry, hub: Hub, tmp_path: Path) -> None:
    recipe = RECIPE.replace('"serve:1"', f'"{registry.host}/spark/serve:1"')
    results = []
    for number, (surroundings, umask) in enumerate(zip(SURROUNDINGS, (0o022, 0o077), strict=True)):
        clone = tmp_path / ("a" if number else "far/away/and/deep")
        clone.mkdir(parents=True)
        (clone / "serve.recipe.toml").write_text(recipe)
        (clone / "run.sh").write_text("#!/bin/sh\n")
        (clone / "run.sh").chmod(0o644)
        (clone / "cluster.toml").write_text(CLUSTER)
        before = os.umask(umask)
        try:
            for words in (("lock", "serve.recipe.toml"), ("build", "serve.recipe.toml", "--locked", "--copy")):
                ran = run_rcc(*words, cwd=clone, env={**hub.environ, **surroundings})
                assert ran.code == 0, ran.text
        finally:
            os.umask(before)
        results.append({path: data for path, data in below(clone) if not path.startswith(".rcc")})

    assert results[0] == results[1]
    manifest = json.loads(results[0]["result/manifest.json"])
    digest = registry.digest("spark/serve:1")
    assert manifest["inputs"]["lock"] == sha256(results[0]["serve.recipe.lock"]).hexdigest()
    assert digest.encode() in results[0]["serve.recipe.lock"]
    assert any(f"{registry.host}/spark/serve@{digest}".encode() in data for data in results[0].values())


def below(folder: Path) -> list[tuple[str, bytes]]:
    """Every file by its path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    assert files
    return [(str(path.relative_to(folder)), path.read_bytes()) for path in files]
