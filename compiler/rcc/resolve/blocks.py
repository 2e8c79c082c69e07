"""Mounts, staging blocks and asserts of one rank, templates filled and checked again."""

from __future__ import annotations

from collections.abc import Mapping

from rcc.diagnostic import Finding, finding
from rcc.lock.asked import staging_source, tensors_of
from rcc.lock.model import Lock
from rcc.recipe.model import ExtraMount, Raw, RecipeFile, StagingBlock
from rcc.recipe.paths import not_absolute
from rcc.recipe.shape import shown
from rcc.resolve.fill import Filler
from rcc.resolve.model import ResolvedFile, ResolvedMount, ResolvedStaging

Carried = Mapping[str, ResolvedFile]
"""The carried files by the relative path that the recipe writes."""


def fill_path(file: RecipeFile, raw: Raw, filler: Filler) -> str:
    """A path with its templates filled: absolute, without `..`, without a slash at its end."""
    before = len(filler.found)
    text = filler.fill(raw)
    if len(filler.found) == before and (problem := not_absolute(text)):
        filler.found.append(no_path(file, raw, text, problem))
    return text.rstrip("/") or "/"


def no_path(file: RecipeFile, raw: Raw, text: str, problem: tuple[str, str]) -> Finding:
    """RCC306 or RCC702 for what is no path: `text` is the filled one, `problem` what `not_absolute` says of it."""
    wanted, help = problem
    filled = "" if text == raw.text else f", once its templates are filled: `{shown(text)}`"
    code = "RCC702" if raw.path[-1] == "container" else "RCC306"
    return finding(code, f"`{raw.path[0]}` needs {wanted}{filled}", file.place(raw.path), help=help)


def resolve_mounts(file: RecipeFile, filler: Filler, carried: Carried) -> tuple[ResolvedMount, ...]:
    """The recipe's mounts in its order."""
    return tuple(_mount(file, mount, filler, carried) for mount in file.recipe.extra_mounts)


def _mount(file: RecipeFile, mount: ExtraMount, filler: Filler, carried: Carried) -> ResolvedMount:
    target = fill_path(file, mount.container, filler)
    if mount.carried:
        return ResolvedMount(carried[mount.host.text], target, mount.read_only, None)
    return ResolvedMount(fill_path(file, mount.host, filler), target, mount.read_only, mount.sha256)


def resolve_asserts(file: RecipeFile, filler: Filler) -> tuple[tuple[str, str], ...]:
    """What must be in the image: path and text."""
    return tuple((fill_path(file, one.path, filler), filler.fill(one.contains)) for one in file.recipe.asserts)


def resolve_staging(file: RecipeFile, rank: int, filler: Filler, lock: Lock | None) -> tuple[ResolvedStaging, ...]:
    """The staging blocks for one rank, with the lock's rows and layout where there is a lock."""
    return tuple(_block(file, block, rank, filler, lock) for block in file.recipe.staging)


def _block(file: RecipeFile, block: StagingBlock, rank: int, filler: Filler, lock: Lock | None) -> ResolvedStaging:
    locked = lock.staging.get(block.id) if lock else None
    rows = block.kind == "sparse-rows"
    source = staging_source(file, block)
    if locked is not None and source is not None:
        source = f"{locked.request.repo}@{locked.commit}"
    return ResolvedStaging(
        id=block.id,
        kind=block.kind,
        format=(block.format or "sparse-copy") if rows else None,
        src=fill_path(file, block.src, filler),
        dst=fill_path(file, block.dst, filler),
        tensors=tensors_of(block) if rows else None,
        tiling=block.tiling if rows else None,
        manifest=(block.manifest or f"{block.id}-local.json") if rows else None,
        serve=block.serve,
        include=block.include,
        exclude=block.exclude,
        min_free=block.min_free,
        rate_limit=block.rate_limit,
        source=source,
        layout=locked.layout if locked else None,
        rows=dict(locked.ranks[rank]) if locked and rank < len(locked.ranks) else None,
    )
