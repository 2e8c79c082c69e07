"""What a recipe asks its lock, read off the recipe alone: the lock does not depend on the cluster."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from functools import partial

from rcc.diagnostic import Finding, Findings, finding
from rcc.lock.wanted import (
    IMAGES,
    StagingRequest,
    Wanted,
    WantedFile,
    WantedImage,
    WantedModel,
    WantedStaging,
)
from rcc.recipe.model import MAIN_MODEL, RecipeFile, StagingBlock
from rcc.recipe.reference import BadReference, parse_reference
from rcc.source import Path

DEFAULT_BRANCH = "main"
_SNAPSHOT = r"(?:^|/)models--([^/]+?)--([^/]+)/snapshots/([0-9a-f]{40})/?"
_HOST_PATH = (
    r"\{\{\s*(?:model|models\.([a-z0-9-]+))\.host_path\s*\}\}/?|<<(?:model|models\.([a-z0-9-]+))\.host_path>>/?"
)


def wanted_by(file: RecipeFile, files: Iterable[WantedFile] = ()) -> tuple[Wanted | None, Findings]:
    """Everything that the recipe's lock answers; `files` are the carried ones as they are now."""
    images, found = _images(file)
    if found:
        return None, tuple(found)
    read = tuple(files)
    carried = {posixpath.normpath(mount.host.text) for mount in file.recipe.extra_mounts if mount.carried}
    unread = frozenset(carried.difference(one.path for one in read))
    return Wanted(images, _models(file), _staging(file), read, unread), ()


def _images(file: RecipeFile) -> tuple[tuple[WantedImage, ...], list[Finding]]:
    images, found = [], []
    for id, key in IMAGES.items():
        text: str | None = getattr(file.recipe, key)
        if text is None:
            continue
        reference = parse_reference(text)
        if isinstance(reference, BadReference):
            found.append(bad_reference(file, key, text, reference))
        else:
            images.append(WantedImage(id, reference, partial(file.place, (key,))))
    return tuple(images), found


def bad_reference(file: RecipeFile, key: str, text: str, bad: BadReference) -> Finding:
    """RCC205: what a key should name an image with, and what is wrong with it."""
    inside = file.layers.origin((key,)).string_place((key,), bad.start, max(bad.end, bad.start + 1))
    place, help = inside if text else file.place((key,)), "write `[registry/]name[:tag][@sha256:…]`"
    return finding("RCC205", f"`{text}` is no image reference: {bad.reason}", place, help=help)


def _models(file: RecipeFile) -> tuple[WantedModel, ...]:
    recipe = file.recipe
    asked: list[tuple[str, str | None, str, Path]] = [(MAIN_MODEL, recipe.model, main_revision(file), ("model",))]
    for index, one in enumerate(recipe.models):
        asked.append((one.id, one.model, one.revision or DEFAULT_BRANCH, ("models", index, "model")))
    return tuple(
        WantedModel(id, repo, revision, partial(file.place, path))
        for id, repo, revision, path in asked
        if repo and not repo.startswith("/")
    )


def main_revision(file: RecipeFile) -> str:
    """The main model's revision: the recipe's, else the commit that a staging `src` of it names, else `main`."""
    if file.recipe.revision:
        return file.recipe.revision
    block = revision_block(file)
    match = None if block is None else re.search(_SNAPSHOT, file.recipe.staging[block].src.text)
    return match[3] if match else DEFAULT_BRANCH


def revision_block(file: RecipeFile) -> int | None:
    """The first staging block whose `src` names a commit of the main model."""
    for index, block in enumerate(file.recipe.staging):
        match = re.search(_SNAPSHOT, block.src.text)
        if match and f"{match[1]}/{match[2]}" == file.recipe.model:
            return index
    return None


def _staging(file: RecipeFile) -> tuple[WantedStaging, ...]:
    blocks = []
    for index, block in enumerate(file.recipe.staging):
        source = staging_source(file, block)
        if source is not None:
            find = partial(file.place, ("staging", index, "id"))
            blocks.append(WantedStaging(block.id, _request(file, block, source), find))
    return tuple(blocks)


def staging_source(file: RecipeFile, block: StagingBlock) -> str | None:
    """`org/name@revision` that a block's `src` names; None for a folder that is no snapshot of a Hub repository."""
    match = re.search(_SNAPSHOT, block.src.text)
    if match:
        return f"{match[1]}/{match[2]}@{match[3]}"
    whole = re.fullmatch(_HOST_PATH, block.src.text.strip())
    if not whole:
        return None
    id = whole[1] or whole[2]
    if id is None:
        repo = file.recipe.model
        return f"{repo}@{main_revision(file)}" if repo and not repo.startswith("/") else None
    named = next((one for one in file.recipe.models if one.id == id), None)
    return f"{named.model}@{named.revision or DEFAULT_BRANCH}" if named and not named.model.startswith("/") else None


def tensors_of(block: StagingBlock) -> str:
    """The glob of the tables that are split by rows."""
    return block.tensors or f"layers.*.{block.id}.embed.*"


def _request(file: RecipeFile, block: StagingBlock, source: str) -> StagingRequest:
    if block.kind == "snapshot":
        return StagingRequest("snapshot", source, include=block.include, exclude=block.exclude)
    world = file.recipe.required_nodes
    return StagingRequest(block.kind, source, block.format or "sparse-copy", tensors_of(block), block.tiling, world)
