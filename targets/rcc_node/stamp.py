"""What stands beside the staged files: the stamp for the container's start, the manifest for the row store."""

from __future__ import annotations

import json

from rcc_node.goal import Goal
from rcc_node.place import OURS
from rcc_node.terms import rows_text

STAMP = f"{OURS}/stamp"


def stamp_line(layout: str, world: int, rank: int, goal_rows: str) -> str:
    """`<layout> <world> <rank> <rows>`: the container starts only where the whole line is what its artifact says."""
    return f"{layout} {world} {rank} {goal_rows}\n"


def stamp(goal: Goal, world: int, rank: int) -> bytes:
    """The bytes of the stamp."""
    return stamp_line(goal.layout, world, rank, rows_text(goal.rows or {})).encode()


def manifest(goal: Goal) -> tuple[str, bytes] | None:
    """Name and bytes of the manifest, None for a snapshot. It states no path and no time."""
    if goal.rows is None:
        return None
    source = goal.asked["source"]
    document = {
        "source": None if source.startswith("/") else source,
        "layers": {layer: list(goal.rows[layer]) for layer in sorted(goal.rows, key=int)},
        "quant": goal.quant,
        "layout": goal.layout,
    }
    return goal.asked["manifest"], (json.dumps(document, ensure_ascii=False) + "\n").encode()
