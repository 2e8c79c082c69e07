"""Memory that the packer and its reader share: what one has read the other writes, and nothing is copied between."""

from __future__ import annotations

import os
from contextlib import suppress
from mmap import PAGESIZE, mmap

from rcc_node.direct import HUGE

_COLLAPSE = 25
"""MADV_COLLAPSE of Linux 6.1, which makes huge pages of small ones; Python has no name for it."""


def buffers(count: int) -> list[memoryview]:
    """Page-aligned memory of `HUGE` bytes each that processes forked later share; in huge pages where that can be."""
    with suppress(OSError):
        file = os.memfd_create("rcc-node")
        try:
            if (memory := _in_huge_pages(file, count * HUGE)) is not None:
                return [memory[place : place + HUGE] for place in range(0, len(memory), HUGE)]
        finally:
            os.close(file)
    return [memoryview(mmap(-1, HUGE)) for _ in range(count)]


def _in_huge_pages(file: int, length: int) -> memoryview | None:
    # Addresses and places in the file must lie alike, and Python cannot say where memory lies. What is mapped and
    # let go comes to lie where it was, so that one of the places to begin at is the right one.
    os.posix_fallocate(file, 0, length + 2 * HUGE)
    for start in range(0, HUGE, PAGESIZE):
        memory = mmap(file, length + HUGE, offset=start)
        try:
            memory.madvise(_COLLAPSE)
        except OSError:
            memory.close()
        else:
            first = -start % HUGE
            return memoryview(memory)[first : first + length]
    return None
