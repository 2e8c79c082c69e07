"""Staged rows as the lock has them."""

from __future__ import annotations

from collections.abc import Iterator

from rcc.diagnostic import Finding, finding
from rcc.lint.context import Context
from rcc.lock.model import LockedStaging
from rcc.recipe.model import StagingBlock
from rcc.recipe.size import shown_size
from rcc.staging.rows import staged_bytes, untiled_layer


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
    wrong = untiled_layer(locked)
    if wrong:
        help = "restore the lock from version control, or delete it and run `rcc lock`"
        yield finding("RCC801", wrong[1], context.place("staging", index, "id"), help=help)


def check_min_free_too_small(
    context: Context, index: int, block: StagingBlock, locked: LockedStaging
) -> Iterator[Finding]:
    """RCC802: packing would begin, and run out of space."""
    needed = staged_bytes(locked)
    if block.min_free is not None and block.min_free < needed:
        message = f"`min_free` is {shown_size(block.min_free)}, and the rows of a rank need {shown_size(needed)}"
        help = "remove it: the default is what the rows need and 1 GiB"
        yield finding("RCC802", message, context.place("staging", index, "min_free"), help=help)
