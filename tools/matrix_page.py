"""The conversion matrix: what each target says in another way, or not at all, made from the targets' own `losses`."""

from __future__ import annotations

from collections.abc import Iterator

from rcc.emit.registry import BUILT_IN, Chosen, choose

PATH = "docs/reference/conversion-matrix.md"
HEAD = """\
# Conversion matrix

What a target says in another way than the plan has it, or not at all. Whatever is not named here reaches the container
as the plan has it, byte for byte; what a format cannot carry is refused with a finding that names the value.

<!-- Made by `make docs` from the targets' `losses`; do not edit. -->
"""


def pages() -> dict[str, str]:
    """The page by its path from the repository's root."""
    targets, _ = choose(BUILT_IN)
    return {PATH: "\n".join([HEAD, *_table(targets)]).rstrip() + "\n"}


def _table(targets: tuple[Chosen, ...]) -> Iterator[str]:
    yield f"| field of the plan | {' | '.join(one.name for one in targets)} |"
    yield f"| --- |{' --- |' * len(targets)}"
    losses = {one.name: {loss.field: loss.how for loss in one.target.losses} for one in targets}
    for field in sorted({field for of_target in losses.values() for field in of_target}):
        cells = " | ".join(losses[one.name].get(field, "as planned").replace("|", "\\|") for one in targets)
        yield f"| `{field}` | {cells} |"
