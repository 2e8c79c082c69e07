"""Brings a `dst` to what its block asks for, whatever an earlier run left there."""

from __future__ import annotations

import os

from rcc_node import ledger, lock
from rcc_node.check import checked
from rcc_node.console import Console
from rcc_node.errors import NodeError
from rcc_node.install import ADOPTED, NEW, finish
from rcc_node.job import Job, Options, Result
from rcc_node.place import Place
from rcc_node.plan import Plan
from rcc_node.refusals import refuse_foreign, refuse_overlap


def stage(plan: Plan, options: Options, console: Console) -> list[Result]:
    """Stages all blocks of a plan; NodeError where one cannot be."""
    results = []
    for block in plan.blocks:
        for dst in (block.dst, os.path.realpath(block.dst)):  # before the first folder is made
            refuse_overlap(block, block.src, dst)
        place = Place(block.dst, create=True)
        try:
            results.append(_stage(Job(block, plan.world, plan.rank, options, console, place)))
        finally:
            place.close()
        console.say(results[-1].sentence())
    return results


def _stage(job: Job) -> Result:
    place = job.place
    with place.failures():
        refuse_foreign(place, job.options.adopt)  # before anything is written into it, also a lock
        with lock.held(place, f"rank {job.rank}", job.options.wait, lambda holder: _say_waiting(job, holder)):
            refuse_foreign(place, job.options.adopt)
            place.refuse_links()
            for area in (NEW, ADOPTED):
                finish(place, area)
            return _staged(job)


def _say_waiting(job: Job, holder: str) -> None:
    job.note(f"`{job.place.path}` is in use by {holder}: waiting for it")


def _staged(job: Job) -> Result:
    try:
        current = ledger.read(job.place, ledger.HERE)
    except ledger.Damaged as error:
        if not job.options.repair:
            raise _ledger_damaged(job) from error
        return _renewed(job, None, take_over=True)
    if current is None:
        return _renewed(job, None, take_over=job.options.adopt)
    try:
        return checked(job, current) if job.is_for(current.goal) else _renewed(job, current, take_over=False)
    finally:
        current.close()


def _renewed(job: Job, current: ledger.Ledger | None, take_over: bool) -> Result:
    from rcc_node.fresh import packed, taken_over  # not loaded for the check before each start

    return taken_over(job, mend=job.options.repair) if take_over else packed(job, current)


def _ledger_damaged(job: Job) -> NodeError:
    return NodeError(
        "ledger-damaged",
        f"the ledger of `{job.place.path}` cannot be read, so nothing there is proven",
        "run `stage --repair`: it compares all with the source and packs what differs",
    )
