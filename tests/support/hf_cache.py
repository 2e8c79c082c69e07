"""Hugging Face caches on disk, in every layout that they have had."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from tests.support.checkpoints import Content

Layout = Literal["classic", "shared", "plain", "classic+tree", "plain+tree"]
LAYOUTS: tuple[Layout, ...] = ("classic", "shared", "plain", "classic+tree", "plain+tree")


def write_cache(hub: Path, repo: str, files: Mapping[str, Content], layout: Layout, commit: str = "a" * 40) -> Path:
    """Writes a model into the cache folder `hub`, its branch main; gives the snapshot's folder."""
    root = hub / ("models--" + repo.replace("/", "--"))
    snapshot = root / "snapshots" / commit
    for path, content in files.items():
        target = snapshot / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if layout.startswith("plain"):
            write_sparse(target, content)
            continue
        blob = root / "blobs" / (content.sha256 if content.lfs else content.sha1)
        if layout == "shared" and content.lfs:
            _link(blob, _shared(hub, content))
        elif not blob.exists():
            write_sparse(blob, content)
        _link(target, blob)
    (root / "refs").mkdir(parents=True, exist_ok=True)
    (root / "refs" / "main").write_text(commit)
    if layout.endswith("tree") or layout == "shared":
        tree = {"format_version": 1, "files": {path: _entry(content) for path, content in files.items()}}
        (root / "trees").mkdir(exist_ok=True)
        (root / "trees" / f"{commit}.json").write_text(json.dumps(tree, indent=1))
    return snapshot


def write_sparse(path: Path, content: Content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(content.head)
        file.truncate(content.size)


def _shared(hub: Path, content: Content) -> Path:
    """A blob in the store that all repositories share, under a name that is no sha256 of it."""
    name = hashlib.blake2b(content.sha256.encode(), digest_size=32).hexdigest()
    blob = hub / "blobs" / name[:2] / name
    write_sparse(blob, content)
    (hub / "blobs" / ".huggingface-shared-blobs").write_text("1\n")
    return blob


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(os.path.relpath(target, link.parent))


def _entry(content: Content) -> dict[str, object]:
    entry: dict[str, object] = {"size": content.size, "blob_id": content.sha1}
    return {**entry, "lfs_sha256": content.sha256, "lfs_size": content.size} if content.lfs else entry
