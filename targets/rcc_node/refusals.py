"""When nothing is staged, and what to do about it."""

from __future__ import annotations

import os

from rcc_node.errors import NodeError
from rcc_node.goal import Goal
from rcc_node.install import interrupted
from rcc_node.job import Job
from rcc_node.ledger import HERE
from rcc_node.place import Place
from rcc_node.plan import Block
from rcc_node.units import size

MARGIN = 1 << 30
"""Bytes that stay free beside what is packed, where `min_free` does not say otherwise."""


def refuse_overlap(block: Block, src: str, dst: str) -> None:
    """Refuses a `dst` in its source or the other way round. Paths as they stand, or resolved: the caller says."""
    inside = os.path.normpath(dst)
    for other in filter(None, (src, block.hf_cache)):
        outside = os.path.normpath(other)
        if os.path.commonpath((inside, outside)) in (inside, outside):
            raise NodeError(
                "dst-on-source",
                f"`{block.dst}` and `{other}` lie in each other",
                "choose a `dst` on the node's own disk",
            )


def refuse_foreign(place: Place, adopt: bool) -> None:
    """Refuses a folder with something in it that no ledger of ours speaks of: it is somebody's."""
    others = place.files()
    if not others or adopt or interrupted(place) or place.size(f"{HERE}/ledger.json") is not None:
        return
    raise NodeError(
        "dst-foreign",
        f"`{place.path}` holds something else: `{others[0]}`",
        "choose an empty folder as `dst`, or take over a copy that another tool made with --adopt",
    )


def refuse_in_use(place: Place) -> None:
    """Refuses to change what a running container reads."""
    from rcc_node import containers

    container = containers.using(place.real)
    if container is not None:
        raise NodeError(
            "dst-in-use",
            f"the running container `{container}` has `{place.path}` mounted",
            "stop it first (`down`), or choose another `dst`",
        )


def refuse_changed(job: Job, before: Goal, now: Goal) -> None:
    """Refuses a source whose files are not those that an earlier run staged, by size, header or blob name."""
    known = {file.name: (file.size, file.header, file.blob) for file in before.files}
    for file in now.files:
        if known.get(file.name, (file.size, file.header, file.blob)) != (file.size, file.header, file.blob):
            raise source_changed(job, file.name)
    if before.asked == now.asked and before != now:
        raise source_changed(job, "")


def source_changed(job: Job, name: str) -> NodeError:
    return NodeError(
        "source-changed",
        f"`{job.block.src}/{name}` changed since it was staged",
        f"restore the snapshot; if the change is meant, remove `{job.place.path}` and stage again",
    )


def refuse_little_space(job: Job, staged: int, left: int) -> None:
    """Refuses to begin what will not fit. `left` of `staged` bytes are still to be packed."""
    if left == 0:
        return
    wanted = staged + MARGIN if job.block.min_free is None else job.block.min_free
    needed, free = max(0, wanted - (staged - left)), job.place.free()
    if free < needed:
        raise NodeError(
            "no-space",
            f"the file system of `{job.place.path}` has {size(free)} free, {size(needed)} are needed",
            "free space or choose another `dst`; `min_free` states another need",
        )
