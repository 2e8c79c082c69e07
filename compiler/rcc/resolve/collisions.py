"""What would lie in one place: in a container, or on a node. Docker refuses some of it, and only at the start."""

from __future__ import annotations

from collections.abc import Iterator

from rcc.diagnostic import Finding, Label, finding
from rcc.recipe.model import RecipeFile
from rcc.resolve.model import ResolvedRank
from rcc.resolve.models import RESERVED


def check_collisions(file: RecipeFile, rank: ResolvedRank) -> list[Finding]:
    """Of one rank's mounts and staging blocks, templates filled."""
    return [*_targets(file, rank), *_destinations(file, rank)]


def _targets(file: RecipeFile, rank: ResolvedRank) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for index, mount in enumerate(rank.mounts):
        target, path = mount.target, ("extra_mounts", index, "container")
        if target in ("/", RESERVED) or target.startswith(f"{RESERVED}/"):
            help = "choose another path in the container"
            yield finding("RCC709", f"`{target}` is where rcc mounts its own", file.place(path), help=help)
        elif target in first:
            earlier = Label(file.place(("extra_mounts", first[target], "container")), "mounted here first")
            message, help = f"two mounts have the target `{target}`", "remove one, or give it another target"
            yield finding("RCC703", message, file.place(path), labels=[earlier], help=help)
        first.setdefault(target, index)


def _destinations(file: RecipeFile, rank: ResolvedRank) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for index, block in enumerate(rank.staging):
        if block.dst in first:
            earlier = Label(file.place(("staging", first[block.dst], "dst")), "used here first")
            message, place = f"two blocks are staged to `{block.dst}`", file.place(("staging", index, "dst"))
            yield finding("RCC809", message, place, labels=[earlier], help="give each its own folder")
        first.setdefault(block.dst, index)
