"""The child process that alone touches a source, so that a dead NAS hangs the child and not the packer."""

from __future__ import annotations

import json
import os
import signal
import stat
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from rcc_node.direct import DirectFile
from rcc_node.quick import dataclass


@dataclass(frozen=True, slots=True)
class Channel:
    """One conversation: a JSON list a line in, a JSON object a line out, data in memory that both sides see."""

    requests: int
    replies: int
    buffer: memoryview


def run(channels: list[Channel]) -> NoReturn:
    """Answers until the other side is gone. For a process just forked: keeps nothing of it but the channels."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _close_all_but({fd for channel in channels for fd in (channel.requests, channel.replies)})
        for channel in channels[1:]:
            threading.Thread(target=_serve, args=(channel,), daemon=True).start()
        _serve(channels[0])
    finally:
        os._exit(0)


def _close_all_but(kept: set[int]) -> None:
    # A child stuck on a dead NAS outlives the packer: it must hold neither its lock nor the pipes of who called it.
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                continue  # the folder's own handle, closed by listdir
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        if fd not in kept and fd != null:
            os.dup2(null, fd)


def _serve(channel: Channel) -> None:
    files = _Files()
    with os.fdopen(channel.requests, "rb") as requests:
        for line in requests:
            operation, *arguments = json.loads(line)
            reply = _answer(OPERATIONS[operation], channel, files, arguments)
            _write_all(channel.replies, json.dumps(reply).encode() + b"\n")
    os._exit(0)


def _answer(operation: Callable[..., Any], channel: Channel, files: _Files, arguments: list[Any]) -> dict[str, Any]:
    try:
        return {"answer": operation(channel, files, *arguments)}
    except OSError as error:
        return {"errno": error.errno, "error": error.strerror}


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


class _Files:
    """The file that a conversation is about; one is enough, since chunks come in order."""

    def __init__(self) -> None:
        self._path = ""
        self._file: DirectFile | None = None

    def open(self, path: str) -> DirectFile:
        if self._file is None or path != self._path:
            if self._file is not None:
                self._file.close()
            self._file = None
            self._file = DirectFile(lambda flags: os.open(path, flags))
            self._path = path
        return self._file


def _stat(_channel: Channel, _files: _Files, path: str) -> dict[str, Any]:
    status = os.stat(path)
    link = os.readlink(path) if os.path.islink(path) else None
    kind = "file" if stat.S_ISREG(status.st_mode) else "folder" if stat.S_ISDIR(status.st_mode) else "other"
    return {"kind": kind, "size": status.st_size, "link": link, "real": os.path.realpath(path)}


def _list(_channel: Channel, _files: _Files, path: str) -> list[tuple[str, bool]]:
    with os.scandir(path) as entries:
        return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)


def _read(channel: Channel, files: _Files, path: str, offset: int, length: int) -> int:
    return len(files.open(path).read(channel.buffer, offset, length))


def _alive(_channel: Channel, _files: _Files, path: str) -> None:
    os.statvfs(path)  # the one question that no client answers from its cache


def _drop(_channel: Channel, _files: _Files, path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "stat": _stat,
    "list": _list,
    "read": _read,
    "alive": _alive,
    "drop": _drop,
}
