"""A folder on disk against what should be there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from rcc.quick import dataclass

CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Expected:
    """A file that should be there: hex sha256 and octal mode."""

    path: str
    sha256: str
    mode: str

    @classmethod
    def of(cls, path: str, data: bytes, mode: str) -> Expected:
        """The expectation of these very bytes."""
        return cls(path, sha256(data).hexdigest(), mode)


@dataclass(frozen=True, slots=True)
class Differences:
    """Paths relative to the folder, sorted. `modes` has the mode that was found beside the path."""

    changed: tuple[str, ...]
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    modes: tuple[tuple[str, str], ...]

    def __bool__(self) -> bool:
        return bool(self.changed or self.missing or self.extra or self.modes)


def differences(folder: Path, expected: Iterable[Expected], *, exact_modes: bool) -> Differences:
    """Compares bytes, modes and the set of files. A link is never followed: in a result there is none.

    Unless `exact_modes`, bits that `git` does not keep may differ: it knows only whether a file is a program.
    """
    wanted = {one.path: one for one in expected}
    present = dict(_walk(folder))
    both = sorted(wanted.keys() & present.keys())
    return Differences(
        changed=tuple(path for path in both if _content(folder / path, present[path]) != wanted[path].sha256),
        missing=tuple(sorted(wanted.keys() - present.keys())),
        extra=tuple(sorted(present.keys() - wanted.keys())),
        modes=tuple(
            (path, f"{stat.S_IMODE(present[path]):04o}")
            for path in both
            if stat.S_ISREG(present[path]) and not _same_mode(present[path], wanted[path].mode, exact_modes)
        ),
    )


def _walk(folder: Path, below: str = "") -> Iterator[tuple[str, int]]:
    """Every file and every empty folder (its path ends in `/`) with its mode."""
    for entry in sorted(os.scandir(folder / below), key=lambda one: one.name):
        path = f"{below}{entry.name}"
        if not entry.is_dir(follow_symlinks=False):
            yield path, entry.stat(follow_symlinks=False).st_mode
            continue
        inside = list(_walk(folder, f"{path}/"))
        yield from inside or [(f"{path}/", entry.stat(follow_symlinks=False).st_mode)]


def _content(path: Path, mode: int) -> str | None:
    """The sha256 of a regular file; None for anything else."""
    if not stat.S_ISREG(mode):
        return None
    digest = sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _same_mode(found: int, wanted: str, exact: bool) -> bool:
    mode, plain = stat.S_IMODE(found), int(wanted, 8)
    if exact:
        return mode == plain
    return mode in _as_git_makes_it(plain)


def _as_git_makes_it(mode: int) -> tuple[int, ...]:
    """The mode itself, and what a checkout gives under the usual umasks."""
    return (mode, 0o755, 0o775, 0o700) if mode & 0o100 else (mode, 0o644, 0o664, 0o600)
