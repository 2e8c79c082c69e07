"""What is said of a GID index that is written down."""

from __future__ import annotations

from rcc.diagnostic import Finding, finding
from rcc.source import Place

GID_VARIABLE = "NCCL_IB_GID_INDEX"


def pinned_index(name: str, text: str, place: Place | None) -> Finding:
    """RCC407: the index differs between nodes, and moves."""
    message = f"GID index {text} is pinned for every node, and each has its own table"
    help = 'remove it: `gid_index = "auto"` in the cluster file finds it on each node at each start'
    if name != GID_VARIABLE:
        help = 'write `"{{ node.gid_index }}"`'
    return finding("RCC407", message, place, help=help)
