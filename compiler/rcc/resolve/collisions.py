"""What would lie in one place: in a container, or on a node. Docker refuses some of it, and only at the start."""

from __future__ import annotations

from collections.abc import Iterator

from rcc.cluster.model import Hardware
from rcc.diagnostic import Finding
from rcc.recipe.destinations import bad_destination, same_destinations
from rcc.recipe.model import RecipeFile
from rcc.recipe.targets import reserved_target, same_targets
from rcc.resolve.model import ResolvedRank


def check_collisions(file: RecipeFile, hardware: Hardware, rank: ResolvedRank) -> list[Finding]:
    """Of one rank's devices, mounts and staging blocks, templates filled."""
    targets = [mount.target for mount in rank.mounts]
    return [
        *(one for index, target in enumerate(targets) for one in reserved_target(file, index, target)),
        *same_targets(file, targets, hardware.devices),
        *_destinations(file, rank),
    ]


def _destinations(file: RecipeFile, rank: ResolvedRank) -> Iterator[Finding]:
    for index, block in enumerate(rank.staging):
        yield from bad_destination(file, index, block.src, block.dst, rank.hf_cache)
    yield from same_destinations(file, [block.dst for block in rank.staging])
