"""What a locked block's rows come to: whether they tile, and how many bytes a rank has on its disk."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from rcc.lock.model import LockedStaging
from rcc_node.layout import DTYPE_BITS, LayoutError, layer_of, prove_tiling


def untiled(block: LockedStaging) -> str | None:
    """Why the ranks' ranges do not cover the rows of each layer exactly once; None where they do."""
    try:
        for name, tensor in sorted(block.tensors.items()):
            layer, rows = layer_of(name), tensor.shape[0] if tensor.shape else 0
            prove_tiling(layer, rows, [rank.get(layer, (0, 0)) for rank in block.ranks])
    except LayoutError as error:
        return error.message
    return None


def staged_bytes(block: LockedStaging) -> int:
    """Bytes of rows on the disk of the rank that has most."""
    return max((sum(_bytes(block, rank)) for rank in block.ranks), default=0)


def _bytes(block: LockedStaging, rank: Mapping[str, tuple[int, int]]) -> list[int]:
    sizes = []
    for name, tensor in block.tensors.items():
        low, high = rank.get(layer_of(name), (0, 0))
        sizes.append((high - low) * prod(tensor.shape[1:]) * DTYPE_BITS.get(tensor.dtype, 8) // 8)
    return sizes
