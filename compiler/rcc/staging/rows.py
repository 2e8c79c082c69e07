"""What a locked block's rows come to: whether they tile, and how many bytes a rank has on its disk."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from rcc.lock.model import LockedStaging
from rcc_node.layout import DTYPE_BITS, LayoutError, layer_of, prove_tiling


def untiled_layer(block: LockedStaging) -> tuple[str, str] | None:
    """The first layer whose ranks' ranges do not cover its rows exactly once, and why; None where all do."""
    for name, tensor in sorted(block.tensors.items()):
        layer = layer_of(name)
        try:
            prove_tiling(layer, tensor.shape[0], [rank.get(layer, (0, 0)) for rank in block.ranks])
        except LayoutError as error:
            return layer, error.message
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
