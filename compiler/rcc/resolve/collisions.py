"""What would lie in one place: in a container, or on a node. Docker refuses some of it, and only at the start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rcc.cluster.model import Hardware
from rcc.diagnostic import Finding, Label, finding
from rcc.recipe.destinations import bad_destination
from rcc.recipe.model import RecipeFile
from rcc.recipe.targets import same_targets
from rcc.resolve.model import ResolvedRank
from rcc.resolve.models import RESERVED


def check_collisions(file: RecipeFile, hardware: Hardware, rank: ResolvedRank) -> list[Finding]:
    """Of one rank's devices, mounts and staging blocks, templates filled."""
    targets = [mount.target for mount in rank.mounts]
    return [
        *_reserved(file, targets),
        *same_targets(file, targets, hardware.devices),
        *_destinations(file, rank),
    ]


def _reserved(file: RecipeFile, targets: Sequence[str]) -> Iterator[Finding]:
    for index, target in enumerate(targets):
        if target in ("/", RESERVED) or target.startswith(f"{RESERVED}/"):
            place, help = file.place(("extra_mounts", index, "container")), "choose another path in the container"
            yield finding("RCC709", f"`{target}` is where rcc mounts its own", place, help=help)


def _destinations(file: RecipeFile, rank: ResolvedRank) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for index, block in enumerate(rank.staging):
        yield from bad_destination(file, index, block.src, block.dst, rank.hf_cache)
        if block.dst in first:
            earlier = Label(file.place(("staging", first[block.dst], "dst")), "used here first")
            message, place = f"two blocks are staged to `{block.dst}`", file.place(("staging", index, "dst"))
            yield finding("RCC809", message, place, labels=[earlier], help="give each its own folder")
        first.setdefault(block.dst, index)
