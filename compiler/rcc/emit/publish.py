"""A bundle onto the disk: into the store with the link moved onto it, or as a plain folder."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

from rcc.diagnostic import Finding, Findings, finding, reason
from rcc.emit.bundle import Bundle
from rcc.emit.links import Entry, moved, read_log, target, write_log
from rcc.emit.output import occupant
from rcc.emit.plans import keep_plan
from rcc.emit.store import Store, holds, in_the_way, opened, write_tree
from rcc.plan.model import Plan
from rcc.quick import dataclass
from rcc.source import whole


@dataclass(frozen=True, slots=True)
class Published:
    """Where a build lies: `out` as asked, `place` the folder that it is or names; whether that is news."""

    out: Path
    place: Path
    changed: bool


def publish(
    bundle: Bundle, plan: Plan, out: Path, *, copy: bool, waiting: Callable[[], None]
) -> tuple[Published | None, Findings]:
    """Writes a bundle in the place `out`; whatever happens, the former result stays or the new one is complete.

    A plain folder of ours stays one, also without `copy`: it may be committed somewhere.
    """
    try:
        here, found = occupant(out)
        if here is None:
            return None, found
        out.parent.mkdir(parents=True, exist_ok=True)
        with opened(out.parent, waiting) as store:
            here, found = occupant(out)  # again: who held the lock before us may have put something there
            if here is None:
                return None, found
            keep_plan(store, plan)
            return (_copy if copy or here == "folder" else _link)(store, bundle, out)
    except OSError as error:
        return None, (_not_written(out, error),)


def _link(store: Store, bundle: Bundle, out: Path) -> tuple[Published | None, Findings]:
    log, found = read_log(store)
    if log is None:
        return None, found
    current = target(store.beside, out.name)
    changed = store.put(bundle) or current != bundle.name
    after = moved(log, Entry(out.name, bundle.id, bundle.name), current)
    if after != log:
        write_log(store, after)
    if current != bundle.name:
        store.link(out.name, bundle.name)
    return Published(out, store.results / bundle.name, changed), ()


def _copy(store: Store, bundle: Bundle, out: Path) -> tuple[Published | None, Findings]:
    if not out.is_symlink() and out.is_dir() and holds(out, bundle, exact_modes=False):
        return Published(out, out, False), ()
    with store.unfinished("result") as tree:
        write_tree(tree, bundle.files, linked=False)
        store.replace_by(out.name, tree)
    return Published(out, out, True), ()


_HELP = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room within your quota",
    errno.EROFS: "name a place that can be written with `-o`",
    errno.EACCES: "name a place that you may write with `-o`",
    errno.EPERM: "name a place that you may write with `-o`",
}


def _not_written(out: Path, error: OSError) -> Finding:
    help = _HELP.get(error.errno or 0) or in_the_way(error)
    notes = ["what was there before is as it was"]
    return finding("RCC1102", f"`{out}` cannot be written: {reason(error)}", whole(str(out)), notes=notes, help=help)
