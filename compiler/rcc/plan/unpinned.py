"""What may be different at the next start."""

from __future__ import annotations

from rcc.plan.model import Unpinned
from rcc.resolve.model import Resolved, ResolvedImage


def unpinned_of(resolved: Resolved) -> tuple[Unpinned, ...]:
    """Images by tag, models by branch or path, files on the nodes without a hash, and layouts that no lock knows."""
    return (*_images(resolved), *_models(resolved), *_mounts(resolved), *_staging(resolved))


def _images(resolved: Resolved) -> list[Unpinned]:
    images: list[tuple[str, ResolvedImage | None]] = [("engine", resolved.image), ("staging", resolved.staging_image)]
    return [
        Unpinned("image", id, f"`{image.asked}` is a tag, which can be moved")
        for id, image in images
        if image is not None and image.digest is None
    ]


def _models(resolved: Resolved) -> list[Unpinned]:
    found = []
    for model in resolved.models:
        if model.is_path:
            found.append(Unpinned("model", model.id, f"`{model.repo}` is a folder on the nodes, whatever it holds"))
        elif model.commit is None:
            why = f"`{model.repo}` is served from revision `{model.revision}`, whatever each node's cache has of it"
            found.append(Unpinned("model", model.id, why))
    return found


def _mounts(resolved: Resolved) -> list[Unpinned]:
    found = {}
    for rank in resolved.ranks:
        staged = {block.dst for block in rank.staging}
        for mount in rank.mounts:
            if isinstance(mount.source, str) and mount.sha256 is None and mount.source not in staged:
                why = f"`{mount.source}` is on the nodes and has no `sha256`"
                found[mount.source] = Unpinned("mount", mount.source, why)
    return list(found.values())


def _staging(resolved: Resolved) -> list[Unpinned]:
    blocks = resolved.ranks[0].staging
    why = {
        "sparse-rows": "no lock says which rows lie where; each node works it out from the headers that it finds",
        "snapshot": "no lock says which files these are; each node takes those that it finds",
    }
    return [Unpinned("staging", block.id, why[block.kind]) for block in blocks if block.layout is None]
