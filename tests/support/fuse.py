"""A NAS that does as it is told: a folder served over /dev/fuse, which counts what is read, fails or falls silent.

Speaks the kernel's protocol itself, so that nothing need be installed; root may mount it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.wait import wait_for

_LIBC = ctypes.CDLL(None, use_errno=True)
_DETACH = 2

available = os.geteuid() == 0 and os.access("/dev/fuse", os.R_OK | os.W_OK)
"""Whether this machine lets us mount."""


@dataclass(frozen=True)
class Nas:
    """A mounted folder. `log` has a line for each read: path, offset, bytes."""

    path: Path
    log: Path
    process: subprocess.Popen[bytes]

    def reads(self) -> list[tuple[str, int, int]]:
        lines = (line.rsplit(" ", 2) for line in self.log.read_text().splitlines())
        return [(name, int(offset), int(size)) for name, offset, size in lines]

    def fall_silent(self) -> None:
        self.process.send_signal(signal.SIGSTOP)


@contextmanager
def nas(folder: Path, mount: Path, fail_after: int = 1 << 62) -> Iterator[Nas]:
    """Serves `folder` at `mount`; after `fail_after` bytes each further read is EIO."""
    mount.mkdir()
    log = mount.with_suffix(".log")
    log.touch()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.fuse", str(folder), str(mount), str(log), str(fail_after)],
        cwd=Path(__file__).parents[2],
    )
    try:
        wait_for(lambda: os.path.ismount(mount), "the FUSE mount")
        yield Nas(mount, log, process)
    finally:
        process.kill()
        process.wait()
        _LIBC.umount2(str(mount).encode(), _DETACH)


class _Server:
    def __init__(self, folder: str, log: str, fail_after: int) -> None:
        self._paths = {1: folder}
        self._nodes = {folder: 1}
        self._root = folder
        self._log = open(log, "a", buffering=1)  # noqa: SIM115
        self._left = fail_after

    def serve(self, device: int) -> None:
        operations = {
            1: self._lookup, 3: self._getattr, 5: self._readlink, 14: self._open, 15: self._read,
            17: lambda *_: struct.pack("<QQQQQIIII6I", *[0] * 5, 4096, 255, 4096, *[0] * 7),
            18: lambda *_: b"", 25: lambda *_: b"", 26: self._init,
            27: self._open, 28: self._readdir, 29: lambda *_: b"",
        }  # fmt: skip
        while True:
            try:
                request = os.read(device, 1 << 20)
            except OSError:
                return
            _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
            if opcode in (2, 36, 42):  # FORGET, INTERRUPT, BATCH_FORGET: no answer
                continue
            try:
                answer, error = operations[opcode](node, request[40:]), 0
            except KeyError:
                answer, error = b"", errno.ENOSYS
            except OSError as failure:
                answer, error = b"", failure.errno or errno.EIO
            os.write(device, struct.pack("<IiQ", 16 + len(answer), -error, unique) + answer)

    def _init(self, _node: int, body: bytes) -> bytes:
        major, minor, readahead, _flags = struct.unpack_from("<IIII", body)
        return struct.pack("<IIIIHHII", major, min(minor, 31), readahead, 0, 16, 12, 1 << 17, 1) + bytes(36)

    def _attributes(self, path: str) -> bytes:
        status = os.lstat(path)
        return struct.pack(
            "<QQQ QQQ III IIIII II", status.st_ino, status.st_size, status.st_blocks, 0, 0, 0, 0, 0, 0,
            status.st_mode, status.st_nlink, status.st_uid, status.st_gid, 0, 4096, 0,
        )  # fmt: skip

    def _lookup(self, node: int, body: bytes) -> bytes:
        path = os.path.join(self._paths[node], body.rstrip(b"\0").decode())
        attributes = self._attributes(path)
        number = self._nodes.setdefault(path, len(self._nodes) + 1)
        self._paths[number] = path
        return struct.pack("<QQQQII", number, 0, 1, 1, 0, 0) + attributes

    def _getattr(self, node: int, _body: bytes) -> bytes:
        return struct.pack("<QII", 1, 0, 0) + self._attributes(self._paths[node])

    def _readlink(self, node: int, _body: bytes) -> bytes:
        return os.readlink(self._paths[node]).encode()

    def _open(self, _node: int, _body: bytes) -> bytes:
        return struct.pack("<QII", 0, 1, 0)  # direct I/O: every read comes here

    def _read(self, node: int, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        if self._left <= 0:
            raise OSError(errno.EIO, "told to fail")
        with open(self._paths[node], "rb") as file:
            file.seek(offset)
            data = file.read(size)
        self._left -= len(data)
        self._log.write(f"{os.path.relpath(self._paths[node], self._root)} {offset} {len(data)}\n")
        return data

    def _readdir(self, node: int, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        answer = b""
        for number, name in enumerate(sorted(os.listdir(self._paths[node]))):
            kind = stat.S_IFMT(os.lstat(os.path.join(self._paths[node], name)).st_mode) >> 12
            entry = struct.pack("<QQII", 1, number + 1, len(name), kind) + name.encode()
            entry += bytes(-len(entry) % 8)
            if number >= offset and len(answer) + len(entry) <= size:
                answer += entry
        return answer


def main() -> None:
    folder, mount, log, fail_after = sys.argv[1:]
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
    if _LIBC.mount(b"rcc-nas", mount.encode(), b"fuse", 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), "mount")
    _Server(folder, log, int(fail_after)).serve(device)


if __name__ == "__main__":
    main()
