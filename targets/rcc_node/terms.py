"""What plan, ledger and stamp say of a layout. Not in `layout.py`, which a check before each start need not load."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

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


def read_json(data: bytes, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The values of a JSON text; ValueError also for NaN, and for half of a surrogate pair, which is no text."""
    values = json.loads(data.decode(), object_pairs_hook=pairs, parse_constant=_refuse_constant)
    json.dumps(values, ensure_ascii=False).encode()
    return values


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"`{text}` is no number")


def rows_text(rows: Mapping[str, Range]) -> str:
    """A rank's rows as one word, layers in numeric order: `1:0:96001542,14:0:96004171`; `-` for none."""
    ordered = sorted(rows.items(), key=lambda item: int(item[0]))
    return ",".join(f"{layer}:{low}:{high}" for layer, (low, high) in ordered) or "-"
