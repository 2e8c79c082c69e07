"""A stage that is not there yet, or for something else: packed anew, or taken over from another tool."""

from __future__ import annotations

import os
from collections.abc import Iterable

from rcc_node import ledger, outputs, snapshot, verify
from rcc_node.errors import NodeError
from rcc_node.goal import Goal, StagedFile
from rcc_node.install import ADOPTED, NEW, install
from rcc_node.job import Job, Result
from rcc_node.ledger import Damaged, Ledger
from rcc_node.pack import Packer
from rcc_node.refusals import refuse_changed, refuse_in_use, refuse_little_space, refuse_overlap, source_changed
from rcc_node.source import Source


def packed(job: Job, current: Ledger | None) -> Result:
    """Packs into new files, which replace what `current` speaks of once they are complete."""
    if current is not None:
        job.note(f"packing again: {_difference(job, current.goal)}")
        refuse_in_use(job.place)
    source = job.source()
    try:
        goal = _goal(job, source)
        if current is not None and job.block.source and current.goal.asked["source"] == goal.asked["source"]:
            refuse_changed(job, current.goal, goal)
        work = _resumed(job, NEW, goal)
        try:
            count = _pack(job, source, work, current)
            result = job.result("packed", work, count)
        finally:
            work.close()
        _refuse_change_meanwhile(job, source, goal)
    finally:
        source.close()
    if current is not None:
        refuse_in_use(job.place)
    install(job.place, NEW, job.seal(goal), _obsolete(current, goal))
    return result


def taken_over(job: Job, mend: bool) -> Result:
    """Compares files that are there with the source, whole, and takes them over; `mend` packs what differs."""
    place, source = job.place, job.source()
    try:
        goal = _goal(job, source)
        if mend:
            refuse_in_use(place)
            job.seal(goal).break_(place)
        elif lacking := [file for file in goal.files if place.size(file.name) != file.size]:
            raise _not_equal(job, f"`{place.path}/{lacking[0].name}` is missing or has another size")
        work = _resumed(job, ADOPTED, goal)
        try:
            _compare(job, source, work, mend)
            result = job.result("repaired" if mend else "adopted", work, checked=len(work.chunks))
        finally:
            work.close()
        _refuse_change_meanwhile(job, source, goal)
    finally:
        source.close()
    install(place, ADOPTED, job.seal(goal), ())
    return result


def _goal(job: Job, source: Source) -> Goal:
    refuse_overlap(job.block, os.path.realpath(source.stat(job.block.src).real), job.place.real)
    return job.goal(source)


def _resumed(job: Job, area: str, goal: Goal) -> Ledger:
    """The ledger of work that an earlier run began, or a new one."""
    try:
        begun = ledger.read(job.place, area, writable=True)
    except Damaged:
        begun = None
    if begun is not None and begun.goal == goal:
        return begun
    if begun is not None:
        begun.close()
        if begun.goal.asked == goal.asked:
            refuse_changed(job, begun.goal, goal)
    job.place.remove_folder(area)
    return ledger.create(job.place, area, goal)


def _pack(job: Job, source: Source, work: Ledger, current: Ledger | None) -> int:
    """Packs what is not there yet; the number of bytes of it."""
    kept = _kept(job, work.goal, current)
    if current is not None:
        ledger.carry_over(current, work, _pairs(current, work, kept))
    with outputs.opened(job.place, f"{NEW}/files/", work.goal.files) as files:
        fresh = {n for n in range(len(work.goal.files)) if n not in kept and not files.is_there(n)}
        for number in fresh:
            _forget(work, number)
        todo, left = _remaining(work)
        refuse_little_space(job, work.goal.staged, left)
        files.create(fresh)
        progress = job.progress("packing", work.goal.staged)
        progress.add(work.goal.staged - left, fresh=False)
        Packer(job.place, work, source, files, progress).pack(todo)
        _refuse_other_content(job, work.goal, kept)
    return left


def _kept(job: Job, goal: Goal, current: Ledger | None) -> dict[int, int]:
    """Files that stay where they are, new number to old: their content is the same by name."""
    if current is None:
        return {}
    same_source = job.block.source is not None and current.goal.asked["source"] == goal.asked["source"]
    old = {_identity(file): number for number, file in enumerate(current.goal.files) if file.blob or same_source}
    return {
        number: old[key]
        for number, file in enumerate(goal.files)
        if (key := _identity(file)) in old and job.place.size(file.name) == file.size
    }


def _forget(work: Ledger, number: int) -> None:
    """Takes back what the ledger says of a file that is not there."""
    for index in work.chunks.of_file(number):
        if work.line(index)[0]:
            work.forget(index)


def _identity(file: StagedFile) -> tuple[object, ...]:
    return file.name, file.size, file.header, file.blob, file.extents


def _pairs(old: Ledger, new: Ledger, kept: dict[int, int]) -> Iterable[tuple[int, int]]:
    for after, before in kept.items():
        yield from zip(old.chunks.of_file(before), new.chunks.of_file(after), strict=True)


def _remaining(work: Ledger) -> tuple[list[int], int]:
    """Chunks that are not staged whole, and the bytes that they lack."""
    todo, left = [], 0
    for index, (count, _) in enumerate(work.lines()):
        if lacking := work.chunks[index].length - count:
            todo.append(index)
            left += lacking
    return todo, left


def _refuse_other_content(job: Job, goal: Goal, kept: dict[int, int]) -> None:
    """Refuses files that are no links into the cache and not the lock's; a later run reads them again."""
    expected = snapshot.unproven(job.block, goal)
    for number, file in enumerate(goal.files):
        if number not in kept and file.name in expected:
            path = f"{NEW}/files/{file.name}"
            with os.fdopen(job.place.open(path, os.O_RDONLY), "rb") as staged:
                same = snapshot.is_content(staged, file.size, expected[file.name])
            if not same:
                job.place.remove(path)
                raise source_changed(job, file.name)


def _refuse_change_meanwhile(job: Job, source: Source, goal: Goal) -> None:
    now = job.goal(source)
    refuse_changed(job, goal, now)


def _obsolete(current: Ledger | None, goal: Goal) -> set[str]:
    """Names that nothing speaks of any more."""
    if current is None:
        return set()
    old = {file.name for file in current.goal.files}
    manifest = current.goal.asked.get("manifest")
    return (old | ({manifest} if manifest else set())) - {file.name for file in goal.files}


def _difference(job: Job, before: Goal) -> str:
    asked = job.asked
    changes = [
        f"{key} was {before.asked.get(key)}, is {asked[key]}" for key in asked if asked[key] != before.asked.get(key)
    ]
    return ", ".join(changes) or f"the layout was {before.layout}, is {job.block.layout}"


def _compare(job: Job, source: Source, work: Ledger, mend: bool) -> None:
    files = work.goal.files
    with outputs.opened(job.place, "", files) as staged:
        if mend:
            staged.create(range(len(files)))
        for file in files:
            job.place.adopt(file.name)
        todo, left = _remaining(work)
        progress = job.progress("comparing", left)
        differing = Packer(job.place, work, source, staged, progress).compare(todo, mend)
    if differing:
        raise _not_equal(job, f"{verify.described(work, differing[0])} differs from the source")


def _not_equal(job: Job, what: str) -> NodeError:
    return NodeError(
        "adopt-differs", f"`{job.place.path}` cannot be adopted: {what}", "add --repair to pack what differs"
    )
