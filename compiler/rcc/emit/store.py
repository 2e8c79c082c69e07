"""The folder `.rcc` beside a result: what was built, under one lock, whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path

from rcc.diagnostic import Finding, finding, reason
from rcc.emit.bundle import Bundle, File
from rcc.emit.compare import Expected, differences
from rcc.source import whole

FOLDER = ".rcc"
LINKED_FROM = 16 * 1024
"""Smaller files are not worth a hard link: somebody may want to change one of them by hand."""
_UNFINISHED, _ASIDE = "tmp-", "old-"


class Store:
    """What a folder's `.rcc` holds; to be had from `opened` while the lock is held."""

    def __init__(self, beside: Path) -> None:
        self.beside = beside
        self.root = beside / FOLDER
        self.results = self.root / "store"

    def put(self, bundle: Bundle) -> bool:
        """Sees to it that the bundle is in the store as it should be; False if it was already."""
        place = self.results / bundle.name
        if place.is_dir() and holds(place, bundle, exact_modes=True):
            return False
        with self.unfinished("result") as result, self.unfinished("damaged") as damaged:
            write_tree(result, bundle.files, linked=True)
            if os.path.lexists(place):
                place.rename(damaged)
            result.rename(place)
        return True

    def discard(self, name: str) -> None:
        """Takes a result away, out of the store in one step, so that nothing ever sees half of it there."""
        aside = self.root / f"{_UNFINISHED}{name}"
        (self.results / name).rename(aside)
        remove(aside)

    def link(self, name: str, result: str) -> None:
        """Moves the link `name` onto a result, in one step."""
        with self.unfinished("link") as link:
            link.symlink_to(f"{FOLDER}/store/{result}")
            link.replace(self.beside / name)

    def replace_by(self, name: str, tree: Path) -> None:
        """Puts a tree in the place of the folder or link `name`: the old one aside, the new one in."""
        out, aside = self.beside / name, self.root / f"{_ASIDE}{name}"
        if os.path.lexists(out):
            out.rename(aside)
        tree.rename(out)
        remove(aside)

    def write(self, path: Path, data: bytes) -> None:
        """Writes a file of the store's own, whole or not at all."""
        path.parent.mkdir(exist_ok=True)
        with self.unfinished("file") as file:
            file.write_bytes(data)
            file.replace(path)

    @contextmanager
    def unfinished(self, what: str) -> Iterator[Path]:
        """A place for what is not complete; free afterwards, or at the next build if we are killed."""
        place = self.root / f"{_UNFINISHED}{what}"
        try:
            yield place
        finally:
            with suppress(OSError):
                remove(place)

    def sweep(self) -> None:
        """Removes what killed builds left, and brings back what they had put aside."""
        for path in sorted(self.root.iterdir()):
            if path.name.startswith(_UNFINISHED):
                remove(path)
            elif path.name.startswith(_ASIDE):
                place = self.beside / path.name.removeprefix(_ASIDE)
                if os.path.lexists(place):
                    remove(path)
                else:
                    path.rename(place)


@contextmanager
def opened(beside: Path, waiting: Callable[[], None]) -> Iterator[Store]:
    """The store beside a result, for one process at a time; `waiting` is called if another one has it.

    Raises OSError where the folder cannot be written.
    """
    store = Store(beside)
    store.results.mkdir(parents=True, exist_ok=True)
    ignore = store.root / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
    with (store.root / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(lock, fcntl.LOCK_EX)
        store.sweep()
        yield store


def not_changed(beside: Path, error: OSError) -> Finding:
    """RCC1102: what the system refuses of the folder beside results."""
    store = beside / FOLDER
    message = f"`{store}` cannot be changed: {reason(error)}"
    return finding("RCC1102", message, whole(str(store)), help=in_the_way(error))


def in_the_way(error: OSError) -> str | None:
    """What to do about a failure that something else, in the place of a part of the store, is the cause of."""
    if error.errno not in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ELOOP):
        return None
    return f"something else is in the place of `{FOLDER}`, or of a part of it: move it away"


def holds(folder: Path, bundle: Bundle, *, exact_modes: bool) -> bool:
    """Whether a folder is exactly the bundle."""
    return not differences(folder, expected(bundle), exact_modes=exact_modes)


def expected(bundle: Bundle) -> Iterator[Expected]:
    """The bundle's files as a folder should have them."""
    return (Expected.of(file.path, file.data, file.mode) for file in bundle.files)


def write_tree(root: Path, files: tuple[File, ...], *, linked: bool) -> None:
    """Writes files below a new folder: their modes as stated, folders 0755.

    Where `linked`, large files of the same bytes are one on the disk.
    """
    for folder in ("", *sorted({folder for file in files for folder in _folders(file.path)})):
        (root / folder).mkdir()
        (root / folder).chmod(0o755)
    written: dict[tuple[bytes, str], Path] = {}
    for file in files:
        path = root / file.path
        first = written.setdefault((file.data, file.mode), path)
        worth_it = linked and first != path and len(file.data) >= LINKED_FROM
        if not (worth_it and _linked(first, path)):
            _write(path, file)


def _folders(path: str) -> Iterator[str]:
    """`a` and `a/b` of `a/b/c`."""
    return accumulate(path.split("/")[:-1], "{}/{}".format)


def remove(path: Path) -> None:
    """Removes a folder, a file or a link, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write(path: Path, file: File) -> None:
    with open(path, "xb") as opened_file:
        opened_file.write(file.data)
        os.fchmod(opened_file.fileno(), int(file.mode, 8))


def _linked(first: Path, path: Path) -> bool:
    try:
        os.link(first, path)
    except OSError:  # a file system without hard links
        return False
    return True
