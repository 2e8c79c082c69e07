"""Staged rows as the lock has them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from rcc.diagnostic import Finding, finding
from rcc.lint.context import Context
from rcc.lock.model import LockedStaging
from rcc.recipe.model import StagingBlock
from rcc.recipe.size import shown_size


def check(context: Context) -> Iterator[Finding]:
    """All checks that need the lock."""
    assert context.lock is not None
    for index, block in enumerate(context.recipe.staging):
        locked = context.lock.staging.get(block.id)
        if locked is not None and locked.ranks:
            yield from check_rows_do_not_tile(context, index, locked)
            yield from check_min_free_too_small(context, index, block, locked)


def check_rows_do_not_tile(context: Context, index: int, locked: LockedStaging) -> Iterator[Finding]:
    """RCC801: the engine's all-reduce would double rows, or miss some, in silence."""
    if all(_tile(locked, name) for name in locked.ranks[0]):
        return
    from rcc.staging.rows import untiled

    wrong = untiled(locked)
    if wrong:
        help = "restore the lock from version control, or delete it and run `rcc lock`"
        yield finding("RCC801", wrong, context.place("staging", index, "id"), help=help)


def check_min_free_too_small(
    context: Context, index: int, block: StagingBlock, locked: LockedStaging
) -> Iterator[Finding]:
    """RCC802: packing would begin, and run out of space."""
    if block.min_free is None:
        return
    from rcc.staging.rows import staged_bytes, untiled

    if untiled(locked):  # rows that do not fit together have no size
        return
    needed = staged_bytes(locked)
    if block.min_free < needed:
        message = f"`min_free` is {shown_size(block.min_free)}, and the rows of a rank need {shown_size(needed)}"
        help = "remove it: the default is what the rows need and 1 GiB"
        yield finding("RCC802", message, context.place("staging", index, "min_free"), help=help)


def _tile(locked: LockedStaging, layer: str) -> bool:
    """A quick look, without the layout's own code: whether each rank goes on where the one before it ends."""
    ranges = [rank.get(layer, (0, -1)) for rank in locked.ranks]
    joined = all(low <= high for low, high in ranges) and all(one[1] == two[0] for one, two in pairwise(ranges))
    rows = {tensor.shape[:1] for name, tensor in locked.tensors.items() if layer in name.split(".")}
    return joined and ranges[0][0] == 0 and rows == {ranges[-1][1:]}
