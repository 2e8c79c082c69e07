"""Results that nothing names any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from rcc.diagnostic import Findings
from rcc.emit.links import read_log, target, write_log
from rcc.emit.manifest import NAME, read_manifest
from rcc.emit.plans import forget_plans
from rcc.emit.store import FOLDER, Store, not_changed, opened
from rcc.quick import dataclass

KEPT = 3
"""How many of the last builds stay although no link names them."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What `collect` did: names of results, sorted, and the bytes that they took."""

    removed: tuple[str, ...]
    kept: tuple[str, ...]
    freed: int


def collect(beside: Path, waiting: Callable[[], None]) -> tuple[Collected | None, Findings]:
    """Removes what neither a link nor the last entries of the log name, and what killed builds left."""
    if not (beside / FOLDER).is_dir():
        return Collected((), (), 0), ()
    try:
        with opened(beside, waiting) as store:
            log, found = read_log(store)
            if log is None:
                return None, found
            keep = {entry.result for entry in log[-KEPT:]} | set(_linked(beside))
            results = sorted(path.name for path in store.results.iterdir())
            gone = tuple(name for name in results if name not in keep)
            freed = sum(_size(store.results / name) for name in gone)
            for name in gone:
                store.discard(name)
            forget_plans(store, set(_plans(beside, store)))
            left = tuple(entry for entry in log if entry.result not in gone)
            if left != log:  # last of all: on a full disk there is room for it only now
                write_log(store, left)
            return Collected(gone, tuple(name for name in results if name in keep), freed), ()
    except OSError as error:
        return None, (not_changed(beside, error),)


def _linked(beside: Path) -> Iterator[str]:
    names = (target(beside, path.name) for path in beside.iterdir() if path.is_symlink())
    return (name for name in names if name)


def _plans(beside: Path, store: Store) -> Iterator[str]:
    """The plans of the results that are left, in the store or as plain folders beside it."""
    for manifest in [*store.results.glob(f"*/{NAME}"), *beside.glob(f"*/{NAME}")]:
        with suppress(OSError):
            read, _ = read_manifest(str(manifest), manifest.read_bytes())
            if read:
                yield read.plan


def _size(folder: Path) -> int:
    """Bytes of the files, each counted once however many names it has."""
    files = {(stat.st_dev, stat.st_ino): stat.st_size for stat in map(Path.lstat, folder.rglob("*"))}
    return sum(files.values())
