"""Where staging may write: not into what it reads, nor into what the nodes share or the system owns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rcc.diagnostic import Finding, Label, finding
from rcc.recipe.model import RecipeFile
from rcc.recipe.paths import is_system_folder, lies_in, system_folder


def bad_destination(file: RecipeFile, index: int, src: str, dst: str, cache: str | None) -> Iterator[Finding]:
    """RCC711 and RCC803, of one block, its paths with their templates filled as far as they are known."""
    if is_system_folder(dst):
        message, help = system_folder(dst)
        yield finding("RCC711", message, file.place(("staging", index, "dst")), help=help)
    elif (cache and lies_in(dst, cache)) or lies_in(dst, src) or lies_in(src, dst):
        label = Label(file.place(("staging", index, "src")), "the source")
        message = f"`{file.recipe.staging[index].id}` is staged onto its source, or into the model cache"
        place, help = file.place(("staging", index, "dst")), "choose a folder on the node's own disk"
        yield finding("RCC803", message, place, labels=[label], help=help)


def same_destinations(file: RecipeFile, destinations: Sequence[str]) -> Iterator[Finding]:
    """RCC809: the second block would find what the first has left."""
    first: dict[str, int] = {}
    for index, destination in enumerate(destinations):
        earlier = first.setdefault(destination, index)
        if earlier != index:
            labels = [Label(file.place(("staging", earlier, "dst")), "used here first")]
            message, place = f"two blocks are staged to `{destination}`", file.place(("staging", index, "dst"))
            yield finding("RCC809", message, place, labels=labels, help="give each its own folder")
