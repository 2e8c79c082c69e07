"""Where staging may write: not into what it reads, nor into what the nodes share or the system owns."""

from __future__ import annotations

from collections.abc import Iterator

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
