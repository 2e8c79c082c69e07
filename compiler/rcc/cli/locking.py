"""One recipe and its lock: compared, verified, or brought up to date and written."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from rcc.cli.discover import lock_path
from rcc.cli.files import Disk
from rcc.cli.lock_bar import progress_bar
from rcc.diagnostic import Finding, Findings, Severity, cannot_read, finding, has_errors
from rcc.fetch.changes import Change
from rcc.fetch.save import save_lock
from rcc.fetch.sources import Sources
from rcc.fetch.update import Upgrade, update
from rcc.fetch.verify import verify
from rcc.lock.asked import wanted_by
from rcc.lock.model import REVISION, Lock
from rcc.lock.read import MAX_BYTES, newer_revision, read_lock
from rcc.lock.stale import stale_findings
from rcc.lock.wanted import Wanted, WantedFile
from rcc.lock.write import write_lock
from rcc.pipeline import read_carried
from rcc.quick import dataclass
from rcc.recipe.read import read_recipe
from rcc.source import Source, whole
from rcc.staging.locked import check_layouts


@dataclass(frozen=True, slots=True)
class Asked:
    """What to do with a lock, and where to ask."""

    check: bool
    verify: bool
    dry_run: bool
    rehash: bool
    upgrade: Upgrade
    image_from: str | None
    model_from: str | None
    insecure: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one recipe's lock."""

    recipe: str
    lock: str
    written: bool
    changes: tuple[Change, ...]
    findings: Findings


def lock_recipe(recipe: str, asked: Asked) -> Outcome:
    """Does with a recipe's lock what was asked; the network is asked only for what the lock does not answer."""
    path = lock_path(recipe)
    wanted, found = _wanted(recipe)
    text, old, of_lock = _old(path)
    found = (*found, *of_lock)
    if wanted is None or has_errors(found):
        return Outcome(recipe, path, False, (), found)
    if not (asked.check or asked.verify):
        return _update(Outcome(recipe, path, False, (), found), wanted, text, old, asked)
    if old is None:
        help = f"run `rcc lock {shlex.quote(recipe)}`"
        more: Findings = (finding("RCC611", f"`{recipe}` has no lock `{path}`", whole(recipe), help=help),)
    elif asked.check:
        more = stale_findings(wanted, old, text)
    else:
        with _sources(asked) as sources:
            more = verify(old, sources)
    return Outcome(recipe, path, False, (), (*found, *more))


def _update(so_far: Outcome, wanted: Wanted, text: Source, old: Lock | None, asked: Asked) -> Outcome:
    with _sources(asked) as sources:
        new, changes, found = update(wanted, old, sources, asked.upgrade, asked.rehash)
    found = (*so_far.findings, *found)
    newer = None if old is None else newer_revision(text)
    if newer and new is not None and new != old:
        found = (*found, _poorer(so_far.lock, newer))
    data = None if new is None or (newer and new == old) else write_lock(new)
    if data is not None and len(data) > MAX_BYTES:
        return Outcome(so_far.recipe, so_far.lock, False, changes, (*found, _too_large(so_far.lock, len(data))))
    if data is None or asked.dry_run or data == text.text.encode():
        return Outcome(so_far.recipe, so_far.lock, False, changes, found)
    of_save = save_lock(so_far.lock, data)
    return Outcome(so_far.recipe, so_far.lock, not of_save, changes, (*found, *of_save))


def _too_large(path: str, size: int) -> Finding:
    message = f"the lock would have {size} bytes, more than the {MAX_BYTES} that rcc reads"
    help = "divide the recipe, or keep what the engine does not load out of the repository"
    return finding("RCC005", message, whole(path), help=help)


def _poorer(path: str, newer: int) -> Finding:
    message = f"the lock was of revision {newer}, and this rcc writes {REVISION}: what a newer one added is not kept"
    help = "restore it from version control, and lock with the rcc that wrote it"
    return finding("RCC614", message, whole(path), help=help, severity=Severity.WARNING)


@contextmanager
def _sources(asked: Asked) -> Iterator[Sources]:
    with (
        progress_bar() as progress,
        Sources(os.environ, asked.image_from, asked.model_from, asked.insecure, progress) as sources,
    ):
        yield sources


def _wanted(recipe: str) -> tuple[Wanted | None, Findings]:
    """What the recipe asks; its carried files are read to compare them."""
    read, found = read_recipe(recipe, Disk().read)
    if read is None:
        return None, found
    carried, of_files = read_carried(read, Disk())
    files = (WantedFile(one.file, one.sha256, one.executable) for one in carried.values())
    wanted, of_recipe = wanted_by(read, files)
    return wanted, (*found, *of_files, *of_recipe)


def _old(path: str) -> tuple[Source, Lock | None, Findings]:
    """The lock as it is, with its text; none of either where there is no file."""
    try:
        data = Disk().read(path)
    except FileNotFoundError:
        return Source(path, ""), None, ()
    except OSError as error:
        return Source(path, ""), None, (cannot_read(path, error),)
    lock, found = read_lock(path, data)
    source = Source(path, data.decode("utf-8", "replace"))
    if lock is not None:
        found = (*found, *check_layouts(lock, source))
    return source, lock, found
