"""A stage with damage in it, mended in place: just the chunks that are wrong are packed again."""

from __future__ import annotations

from rcc_node import ledger, outputs, verify
from rcc_node.job import Job, Result, length_of
from rcc_node.ledger import Ledger
from rcc_node.pack import Packer
from rcc_node.refusals import refuse_changed, refuse_in_use
from rcc_node.verify import Damage

_NAMED = 10
"""Damaged chunks that are named one by one."""


def mended(job: Job, current: Ledger, damage: Damage) -> Result:
    """Packs what is damaged again; refuses a source that is not the one that was staged."""
    refuse_in_use(job.place)
    for index in damage.chunks[:_NAMED]:
        job.note(f"packing {verify.described(current, index)} again")
    writable, source, seal = ledger.read(job.place, ledger.HERE, writable=True), job.source(), job.seal(current.goal)
    if writable is None:
        raise AssertionError("the ledger was there a moment ago, and the lock is held")
    try:
        refuse_changed(job, current.goal, job.goal(source))
        seal.break_(job.place)
        with outputs.opened(job.place, "", current.goal.files) as files:
            files.create(damage.files)
            progress = job.progress("repairing", length_of(current, damage.chunks))
            Packer(job.place, writable, source, files, progress).mend(damage.chunks)
    finally:
        source.close()
        writable.close()
    seal.write(job.place)
    return job.result("repaired", current, length_of(current, damage.chunks), len(current.chunks))
