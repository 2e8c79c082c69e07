"""Where things are in a container: mounts, devices, and the shared memory that is a mount of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rcc.diagnostic import Finding, Label, finding
from rcc.recipe.model import Recipe, RecipeFile
from rcc.recipe.paths import normal
from rcc.source import Path

RESERVED = "/rcc"
"""The folder of everything that is mounted without the recipe asking for it."""

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a path in the container


def device_target(device: str) -> str:
    """Where the container has a device."""
    source, _, inside = device.partition(":")
    return inside.partition(":")[0] or source


def reserved_target(file: RecipeFile, index: int, target: str) -> Iterator[Finding]:
    """RCC709, of one mount."""
    path = normal(target)
    if path in ("/", RESERVED) or path.startswith(f"{RESERVED}/"):
        place, help = file.place(("extra_mounts", index, "container")), "choose another path in the container"
        yield finding("RCC709", f"`{target}` is where rcc mounts its own", place, help=help)


def same_targets(file: RecipeFile, mounts: Sequence[str], devices: Sequence[str] = ()) -> Iterator[Finding]:
    """RCC703: two things at one path, of which some tools refuse one and others lose one.

    `mounts` are the targets of the recipe's mounts, `devices` those that the hardware profile brings.
    """
    first: dict[str, Path | None] = {device_target(one): None for one in devices}
    for target, path in _taken(file.recipe, mounts, devices):
        if target in first:
            yield _same_target(file, target, first[target], path)
        first.setdefault(target, path)


def _taken(recipe: Recipe, mounts: Sequence[str], devices: Sequence[str]) -> Iterator[tuple[str, Path]]:
    if recipe.shm_size is not None:
        yield SHARED_MEMORY, ("shm_size",)
    for index, device in enumerate(recipe.devices):
        if device not in (*devices, *recipe.devices[:index]):
            yield device_target(device), ("devices", index)
    for index, target in enumerate(mounts):
        yield target, ("extra_mounts", index, "container")


_HOW = {"shm_size": "this mounts it", "devices": "this device is there", "extra_mounts": "mounted here first"}


def _same_target(file: RecipeFile, target: str, first: Path | None, path: Path) -> Finding:
    both_mounts = first is not None and first[0] == path[0] == "extra_mounts"
    what = f"two mounts have the target `{target}`" if both_mounts else f"`{target}` in the container is taken already"
    labels = [Label(file.place(first), _HOW[str(first[0])])] if first else []
    notes = () if first else ("the hardware profile has a device there",)
    help = "remove one, or give it another target"
    return finding("RCC703", what, file.place(path), labels=labels, notes=notes, help=help)
