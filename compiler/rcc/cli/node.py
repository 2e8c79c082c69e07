"""What is on this machine, against what a result says: image, snapshots, staged rows."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rcc.diagnostic import Finding, finding, reason
from rcc.emit.manifest import Manifest
from rcc.recipe.reference import Reference, parse_reference

SMALL = 16 << 20
"""Larger files of a snapshot are compared by their size alone, unless all is asked for."""
DEADLINE = 10
"""Seconds that a path on a network file system may take to answer."""


def this_rank(manifest: Manifest) -> int | None:
    """The rank whose node has this machine's name."""
    name = platform.node().partition(".")[0]
    return next((one.rank for one in manifest.outputs if one.node == name and one.rank is not None), None)


def ranks_of(manifest: Manifest) -> set[int]:
    """The ranks that a result has something for."""
    return {one.rank for one in manifest.outputs if one.rank is not None}


def node_findings(folder: Path, manifest: Manifest, rank: int, hf_cache: str | None, full: bool) -> Iterator[Finding]:
    """What differs on the node of a rank; `hf_cache` stands in for the Hugging Face root of the result."""
    yield from _images(manifest)
    for model in manifest.closure["models"]:
        yield from _snapshot(model, hf_cache, full)
    yield from _staged(folder, manifest, rank, full)


def _images(manifest: Manifest) -> Iterator[Finding]:
    docker = _docker()
    for image in manifest.closure["images"]:
        digest = image["digest"]
        if digest is None:
            continue
        if docker is None:
            yield finding("RCC1117", "there is no docker to ask for the image", help="name one with RCC_DOCKER")
            return
        asked = parse_reference(image["reference"])
        reference = f"{asked.name}@{digest}" if isinstance(asked, Reference) else digest
        inspect = [*docker, "image", "inspect", "--format", "{{json .RepoDigests}}", reference]
        done = subprocess.run(inspect, capture_output=True, text=True, check=False)  # noqa: S603 - docker, or RCC_DOCKER
        if done.returncode or digest not in done.stdout:
            message = f"image `{image['reference']}` is not here as {digest}"
            yield finding("RCC1117", message, help=f"{shlex.join(docker)} pull {reference}")


def _docker() -> list[str] | None:
    """The one program that RCC_DOCKER names, else docker or podman."""
    stated = os.environ.get("RCC_DOCKER")
    if stated:
        return [stated]
    return next(([name] for name in ("docker", "podman") if shutil.which(name)), None)


def _snapshot(model: Mapping[str, Any], hf_cache: str | None, full: bool) -> Iterator[Finding]:
    files, commit = model["files"], model["commit"]
    if files is None or commit is None or model["host_path"] is None:
        return
    place = Path(model["host_path"])
    if hf_cache is not None:
        place = Path(hf_cache, "hub", "models--" + model["repo"].replace("/", "--"), "snapshots", commit)
    if not _answers(place):
        message = f"`{place}` does not answer within {DEADLINE} seconds"
        yield finding("RCC1117", message, help="look at the network file system that it is on")
        return
    with ThreadPoolExecutor() as pool:
        wrong = pool.map(lambda item: _file(place / item[0], item[1], full), sorted(files.items()))
        for path, what in zip(sorted(files), wrong, strict=True):
            if what:
                help = f"fetch `{model['repo']}` at {commit} again"
                yield finding("RCC1117", f"`{path}` of model `{model['repo']}` {what}", help=help)


def _answers(path: Path) -> bool:
    """Asks in a process of its own, which is left behind where a dead server holds it."""
    ask = "import os, sys; os.path.isdir(sys.argv[1])"
    asked = subprocess.Popen([sys.executable, "-I", "-c", ask, path])  # noqa: S603 - this very Python
    try:
        asked.wait(DEADLINE)
    except subprocess.TimeoutExpired:
        asked.kill()
        return False
    return True


def _file(path: Path, known: Mapping[str, Any], full: bool) -> str | None:
    """What is wrong with a file of a snapshot; None where nothing is."""
    try:
        size = path.stat().st_size
        if size != known["size"]:
            return f"has {size} bytes, not {known['size']}"
        if size > SMALL and not full:
            return None
        return None if _hash(path, known, size) else "has other bytes"
    except OSError as error:
        return f"cannot be read: {reason(error)}"


def _hash(path: Path, known: Mapping[str, Any], size: int) -> bool:
    """Whether the bytes are those of the lock: by sha256, or as git names a blob."""
    wanted = known.get("sha256") or known.get("git-sha1")
    digest = hashlib.sha256() if "sha256" in known else hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest() == wanted


def _staged(folder: Path, manifest: Manifest, rank: int, full: bool) -> Iterator[Finding]:
    """What the node's part, as the result has it, says of the staged rows."""
    if not any(one["rank"] == rank for one in manifest.closure["staging"]):
        return
    stage = next((one.path for one in manifest.outputs if one.rank == rank and one.path.endswith("/stage.json")), None)
    if stage is None:
        help = "build the result for `shell` or `systemd` as well"
        yield finding("RCC1117", "the result has no part for the node that could look at staged rows", help=help)
        return
    node_part = folder / Path(stage).with_name("rcc-node.pyz")
    options = ["--plan", str(folder / stage), "--rank", str(rank), "--json", *(["--full"] if full else [])]
    command = [sys.executable, "-I", str(node_part), "verify", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the verified result's own
    if done.returncode:
        error = _error(done.stdout)
        last = (done.stderr.strip().splitlines() or ["the node's part failed"])[-1]
        yield finding("RCC1117", str(error.get("message", last)), help=error.get("help"))


def _error(text: str) -> dict[str, Any]:
    try:
        error: dict[str, Any] = json.loads(text)["error"]
    except (ValueError, KeyError, TypeError):
        return {}
    return error
