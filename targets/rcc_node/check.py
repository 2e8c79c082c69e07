"""A stage that is there and asked for: proven by a sample or whole."""

from __future__ import annotations

import os
from contextlib import suppress

from rcc_node import verify
from rcc_node.errors import NodeError
from rcc_node.install import ADOPTED, NEW
from rcc_node.job import Job, Result, length_of
from rcc_node.ledger import Ledger
from rcc_node.stamp import STAMP
from rcc_node.verify import Damage


def checked(job: Job, current: Ledger) -> Result:
    """Compares what is staged with its ledger; mends it where that is asked for, or an interrupted run left it open."""
    place, options, seal = job.place, job.options, job.seal(current.goal)
    unsealed = place.size(STAMP) is None
    if unsealed:
        job.note("a run was interrupted: checking every byte")
    damage, count = compared(job, current, options.full or options.repair or options.adopt or unsealed)
    if damage and (options.repair or unsealed):
        from rcc_node.mend import mended

        return mended(job, current, damage)
    missing = seal.missing(place)
    restamped = missing == [STAMP] and current.goal.rows is None  # a snapshot is every rank's, its stamp is one's
    if damage or (missing and not (options.repair or unsealed or restamped)):
        raise damaged(job, current, damage, missing)
    if missing:
        seal.write(place)
    _drop_leftovers(job)
    return job.result("verified", current, checked=count)


def compared(job: Job, current: Ledger, full: bool) -> tuple[Damage, int]:
    """What is damaged, and how many chunks were looked at."""
    indices = range(len(current.chunks)) if full else verify.sample(current)
    progress = job.progress("checking", length_of(current, indices))
    return verify.check(job.place, current, indices, progress), len(indices)


def damaged(job: Job, current: Ledger, damage: Damage, missing: list[str]) -> NodeError:
    """What is wrong with a stage, the first chunk of it by name."""
    if damage.files:
        file = current.goal.files[damage.files[0]]
        what = f"`{job.place.path}/{file.name}` is missing or has another size than {file.size} bytes"
    elif damage.chunks:
        more = f" and {len(damage.chunks) - 1} more" if len(damage.chunks) > 1 else ""
        what = f"`{job.place.path}` is damaged: {verify.described(current, damage.chunks[0])}{more}"
    else:
        what = f"`{job.place.path}/{missing[0]}` is not what was written there"
    return NodeError("staged-damaged", what, "run `stage --repair`, and have the disk checked if it comes again")


def _drop_leftovers(job: Job) -> None:
    """Removes what an abandoned run for something else left; a place that cannot be written keeps it."""
    if os.access(job.place.real, os.W_OK):
        with suppress(PermissionError):
            for area in (NEW, ADOPTED):
                job.place.remove_folder(area)
