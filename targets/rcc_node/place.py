"""The folder that is staged into: resolved once, then reached by handle, with no link below it followed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from rcc_node.errors import NodeError

OURS = ".rcc"
_NOT_FOREIGN = (OURS, "lost+found")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Place:
    """A `dst`. Paths are relative to it, parts between slashes. Files are 0644, folders 0755, of the parent's owner."""

    def __init__(self, path: str, create: bool) -> None:
        self.path = path
        self.real = os.path.realpath(path)
        self._owner = _owner_of_nearest(os.path.dirname(self.real))
        with self.failures():
            if create:
                self._make(self.real)
            if os.path.exists(self.real) and not os.path.isdir(self.real):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            self._fd = os.open(self.real, _FOLDER)

    def close(self) -> None:
        os.close(self._fd)

    def _make(self, folder: str) -> None:
        if os.path.isdir(folder):
            return
        self._make(os.path.dirname(folder))
        os.mkdir(folder, 0o755)
        self._own(os.open(folder, _FOLDER), 0o755, close=True)

    def _own(self, fd: int, mode: int, close: bool = False) -> None:
        with suppress(PermissionError):  # who is not root packs as themself
            os.fchmod(fd, mode)
            os.fchown(fd, *self._owner)
        if close:
            os.close(fd)

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Turns what the file system refuses into words."""
        try:
            yield
        except BrokenPipeError:  # whoever read our words is gone, which is no fault of the place
            raise
        except OSError as error:
            raise _refused(self.path, error) from error

    @contextmanager
    def folder(self, parts: list[str], create: bool = False) -> Iterator[int]:
        """A handle of a folder below."""
        fd = os.dup(self._fd)
        try:
            for part in parts:
                try:
                    below = os.open(part, _FOLDER, dir_fd=fd)
                except FileNotFoundError:
                    if not create:
                        raise
                    os.mkdir(part, 0o755, dir_fd=fd)
                    os.fsync(fd)
                    below = os.open(part, _FOLDER, dir_fd=fd)
                    self._own(below, 0o755)
                os.close(fd)
                fd = below
            yield fd
        finally:
            os.close(fd)

    def open(self, name: str, flags: int) -> int:
        """A handle of a regular file below; one that is created gets our mode and owner."""
        parts = _parts(name)
        create = bool(flags & os.O_CREAT)
        with self.folder(parts[:-1], create) as folder:
            # O_NONBLOCK: a pipe that someone put here must not hang the check that finds it.
            fd = os.open(parts[-1], flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o644, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise NodeError("dst-foreign", f"`{self.path}/{name}` is no file", "move it away, then run again")
        if create:
            self._own(fd, 0o644)
        return fd

    def adopt(self, name: str) -> None:
        """Gives a file that another tool made our mode and owner."""
        self._own(self.open(name, os.O_RDONLY), 0o644, close=True)

    def size(self, name: str) -> int | None:
        """Bytes of a regular file below, None where there is none."""
        parts = _parts(name)
        try:
            with self.folder(parts[:-1]) as folder:
                status = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if stat.S_ISLNK(status.st_mode):
            raise OSError(errno.ELOOP, "a link")
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def read(self, name: str) -> bytes | None:
        """A small file's bytes, None where it is missing."""
        try:
            fd = self.open(name, os.O_RDONLY)
        except FileNotFoundError:
            return None
        with os.fdopen(fd, "rb") as file:
            return file.read()

    def write(self, name: str, data: bytes) -> None:
        """Replaces a file in one step: after a crash it is the old one or the new one, whole; which, `sync` decides."""
        temporary = name + ".tmp"
        fd = self.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(fd)
        self.rename(temporary, name)

    def rename(self, old: str, new: str) -> None:
        """Moves a file."""
        old_parts, new_parts = _parts(old), _parts(new)
        with self.folder(old_parts[:-1]) as source, self.folder(new_parts[:-1], create=True) as target:
            os.rename(old_parts[-1], new_parts[-1], src_dir_fd=source, dst_dir_fd=target)

    def sync(self, names: Iterable[str]) -> None:
        """Makes it durable that these files are there, or are not: a sync for each folder that they lie in."""
        for parts in sorted({tuple(_parts(name)[:-1]) for name in names}):
            with suppress(FileNotFoundError), self.folder(list(parts)) as folder:
                os.fsync(folder)

    def remove(self, name: str) -> None:
        """Removes a file if it is there."""
        parts = _parts(name)
        with suppress(FileNotFoundError), self.folder(parts[:-1]) as folder:
            os.unlink(parts[-1], dir_fd=folder)

    def remove_folder(self, name: str) -> None:
        """Removes a folder and all below it, if it is there."""
        parts = _parts(name)
        for entry, is_folder in self.entries(name):
            if is_folder:
                self.remove_folder(f"{name}/{entry}")
            else:
                self.remove(f"{name}/{entry}")
        with suppress(FileNotFoundError), self.folder(parts[:-1]) as folder:
            os.rmdir(parts[-1], dir_fd=folder)

    def entries(self, name: str = "") -> list[tuple[str, bool]]:
        """Names in a folder, sorted, and whether each is a folder; none where it is missing."""
        try:
            with self.folder(_parts(name)) as folder, os.scandir(folder) as found:
                return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in found)
        except FileNotFoundError:
            return []

    def files(self, name: str = "") -> list[str]:
        """All that lies below and is no folder, without what is ours."""
        found = []
        for entry, is_folder in self.entries(name):
            path = f"{name}/{entry}" if name else entry
            if path in _NOT_FOREIGN:
                continue
            found.extend(self.files(path) if is_folder else [path])
        return found

    def refuse_links(self, name: str = "") -> None:
        """Refuses a link anywhere below: what is written or checked through it could be anything."""
        with self.folder(_parts(name)) as folder, os.scandir(folder) as found:
            for entry in sorted(found, key=lambda entry: entry.name):
                path = f"{name}/{entry.name}" if name else entry.name
                if entry.is_symlink():
                    raise _link(self.path, path)
                if entry.is_dir() and path != "lost+found":
                    self.refuse_links(path)

    def free(self) -> int:
        """Bytes that may still be written to the file system."""
        status = os.fstatvfs(self._fd)
        return status.f_bavail * status.f_frsize


def _parts(name: str) -> list[str]:
    """The parts of a path below. What a ledger or a note states is checked here: its writer need not be root."""
    parts = name.split("/") if name else []
    if not {"", ".", ".."}.isdisjoint(parts):
        what = f"`{name}`, a name that is noted in `dst`, leads out of it"
        raise NodeError("ledger-damaged", what, "remove `dst` and stage again")
    return parts


def _owner_of_nearest(folder: str) -> tuple[int, int]:
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    status = os.stat(folder)
    return status.st_uid, status.st_gid


def _link(place: str, name: str) -> NodeError:
    return NodeError(
        "dst-link", f"`{place}/{name}` is a link", "replace it by the file that it names: below `dst` nothing is a link"
    )


def _refused(path: str, error: OSError) -> NodeError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return NodeError(
            "no-space",
            f"the file system of `{path}` is full",
            "free space, then run again: it goes on where it stopped",
        )
    if error.errno == errno.EROFS:
        return NodeError(
            "dst-read-only", f"`{path}` is on a read-only file system", "mount it writable, then run again"
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return NodeError(
            "dst-permission", f"`{path}` may not be used: {error.strerror}", "run as the owner of its parent"
        )
    if error.errno == errno.ENOENT:
        return NodeError("dst-missing", f"`{path}` is not there or lost a file: {error.strerror}", "run `stage` first")
    if error.errno == errno.EEXIST:
        return NodeError("dst-foreign", f"`{path}` is no folder", "move it away, or choose another `dst`")
    if error.errno == errno.EISDIR:
        return NodeError("dst-foreign", f"`{path}` has a folder where a file belongs", "move it away, then run again")
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return _link(path, error.filename or "...")
    return NodeError("dst-failed", f"`{path}` failed: {error.strerror}", "check its disk, then run `stage --repair`")
