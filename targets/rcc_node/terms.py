"""What plan, ledger and stamp say of a layout. Not in `layout.py`, which a check before each start need not load."""

from __future__ import annotations

from collections.abc import Mapping

from rcc_node.quick import dataclass

Range = tuple[int, int]
"""Half-open: rows `[lo, hi)` of a table, or bytes `[start, end)` of a file."""

TILINGS = ("base-rem", "floor")


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """A file of a snapshot. `id` is `sha256:<hex>` (LFS, Xet), `git:<hex>` (a blob's sha1), or None where unknown."""

    name: str
    size: int
    id: str | None


def rows_text(rows: Mapping[str, Range]) -> str:
    """A rank's rows as one word, layers in numeric order: `1:0:96001542,14:0:96004171`; `-` for none."""
    ordered = sorted(rows.items(), key=lambda item: int(item[0]))
    return ",".join(f"{layer}:{low}:{high}" for layer, (low, high) in ordered) or "-"
