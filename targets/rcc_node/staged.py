"""What is staged, checked without a change to it and without its source."""

from __future__ import annotations

from rcc_node import ledger
from rcc_node.check import compared, damaged
from rcc_node.console import Console
from rcc_node.errors import NodeError
from rcc_node.install import interrupted
from rcc_node.job import Job, Options, Result
from rcc_node.place import Place
from rcc_node.plan import Plan


def verify(plan: Plan, full: bool, console: Console) -> list[Result]:
    """Checks all blocks of a plan; NodeError for the first that is not staged as its plan says."""
    results = []
    for block in plan.blocks:
        place = Place(block.dst, create=False)
        try:
            with place.failures():
                results.append(_checked(Job(block, plan.world, plan.rank, Options(full), console, place)))
        finally:
            place.close()
        console.say(results[-1].sentence())
    return results


def _checked(job: Job) -> Result:
    job.place.refuse_links()
    try:
        current = None if interrupted(job.place) else ledger.read(job.place, ledger.HERE)
    except ledger.Damaged:
        current = None
    if current is None:
        raise _not_staged(job, "nothing complete is there")
    try:
        if not job.is_for(current.goal):
            raise _not_staged(job, "it holds the data of another rank, snapshot or layout")
        damage, count = compared(job, current, job.options.full)
        missing = job.seal(current.goal).missing(job.place)
        if damage or missing:
            raise damaged(job, current, damage, missing)
        return job.result("verified", current, checked=count)
    finally:
        current.close()


def _not_staged(job: Job, why: str) -> NodeError:
    return NodeError("not-staged", f"`{job.block.dst}` is not staged: {why}", "run `stage`")
