"""A recipe that `rcc lock` can lock offline: with a carried file, an image in an OCI layout and a model in a cache."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.checkpoints import sharded, table
from tests.support.cli import Ran, call_rcc
from tests.support.hf_cache import write_cache
from tests.support.hub import Hub, run_hub
from tests.support.oci import Blobs

REPO = "spark/small"
RECIPE = """
engine = "sglang"
docker_image = "serve:1"
model = "spark/small"
required_nodes = 2
tensor_parallel_size = 2
args = ["--trust-remote-code"]  # as its authors say

[[extra_mounts]]
host = "run.sh"
container = "/run.sh"

[[staging]]
kind = "sparse-rows"
id = "engram"
src = "{{ model.host_path }}"
dst = "/srv/engram"
"""


MODEL = sharded({"model.safetensors": table(1, 10)})


def make_project(folder: Path) -> Path:
    """A recipe with its file, an OCI layout with its image and a cache with its model."""
    blobs = Blobs()
    blobs.write_layout(folder / "layout", {"1": blobs.multi_arch(), "2": blobs.image("linux", "arm64")})
    write_cache(folder / "cache", REPO, MODEL, "classic")
    (folder / "serve.recipe.toml").write_text(RECIPE)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    return folder


@contextmanager
def small_hub() -> Iterator[Hub]:
    """A hub with the same model."""
    hub = Hub()
    hub.add(REPO, MODEL)
    with run_hub(hub) as running:
        yield running


SOURCES = ("--image-from", "oci:layout", "--model-from", "cache:cache")


def lock(project: Path, *options: str) -> Ran:
    return call_rcc("lock", "serve.recipe.toml", *options, cwd=project)


def locked(project: Path) -> Ran:
    ran = lock(project, *SOURCES)
    assert ran.code == 0, ran.text
    return ran


def edit(project: Path, old: str, new: str) -> None:
    path = project / "serve.recipe.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
