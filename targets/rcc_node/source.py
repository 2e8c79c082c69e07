"""A source folder, asked through a child process with a deadline (`reader.py`)."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rcc_node import reader, shared
from rcc_node.direct import BLOCK
from rcc_node.errors import NodeError
from rcc_node.limit import Limiter
from rcc_node.quick import dataclass

DEADLINE = 7.0
"""Seconds that one question may take. With the start of the program the user hears of a dead NAS in ten."""

READERS = 8
"""Reads in flight: a NAS with latency needs several, one disk is not slowed by them."""

READ_LIMIT = 1 << 20
"""Bytes of one read."""

_PATIENCE_MS = 100


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder of the source. `link` is the text of the link that it is, `real` where that ends."""

    kind: str
    size: int
    link: str | None
    real: str


class _Line:
    """The packer's end of a channel."""

    def __init__(self, buffer: memoryview) -> None:
        their_requests, self.requests = os.pipe()
        self.replies, their_replies = os.pipe()
        self.channel = reader.Channel(their_requests, their_replies, buffer)


class Source:
    """Questions about paths under `root`. One thread at a time may use a reader (0 to `READERS` - 1)."""

    def __init__(self, root: str, limiter: Limiter | None = None, deadline: float = DEADLINE) -> None:
        self.root = root
        self.limiter = limiter or Limiter(None)
        self._deadline = deadline
        self._silent = False
        self.buffers = shared.buffers(READERS)
        self._lines = [_Line(buffer) for buffer in self.buffers]
        self._child = os.fork()
        if self._child == 0:
            reader.run([line.channel for line in self._lines])
        for line in self._lines:
            os.close(line.channel.requests)
            os.close(line.channel.replies)

    def stat(self, path: str) -> Entry:
        return Entry(**self._ask(0, "stat", path))

    def list(self, path: str) -> list[tuple[str, bool]]:
        """Names in a folder, sorted, and whether each is a folder."""
        return [(name, folder) for name, folder in self._ask(0, "list", path)]

    def alive(self, path: str) -> None:
        """Asks the server itself."""
        self._ask(0, "alive", path)

    def drop(self, path: str) -> None:
        """Drops a file from the page cache."""
        self._ask(0, "drop", path)

    def read(self, slot: int, path: str, offset: int, length: int) -> memoryview:
        """Exactly `length` bytes (at most READ_LIMIT), in this reader's of `buffers` until its next question."""
        self.limiter.take(length)
        count = self._ask(slot, "read", path, offset, length)
        if count < length:
            raise NodeError(
                "source-short",
                f"`{path}` ends at byte {offset + count}, {offset + length} were expected",
                "fetch the snapshot again: the file was truncated",
            )
        skew = offset % BLOCK
        return self.buffers[slot][skew : skew + length]

    def small(self, path: str, length: int) -> bytes:
        """The first `length` bytes of a file, for headers and configurations."""
        parts = []
        for offset in range(0, length, READ_LIMIT):
            parts.append(bytes(self.read(0, path, offset, min(READ_LIMIT, length - offset))))
        return b"".join(parts)

    def _ask(self, slot: int, *question: Any) -> Any:
        line = self._lines[slot]
        try:
            os.write(line.requests, json.dumps(question).encode() + b"\n")
            reply = json.loads(self._reply(line))
        except (BrokenPipeError, ValueError) as error:
            raise self._gone() from error
        if "errno" in reply:
            raise _refused(question[1], reply["errno"], reply["error"])
        return reply["answer"]

    def _reply(self, line: _Line) -> bytes:
        poll = select.poll()
        poll.register(line.replies, select.POLLIN)
        end = time.monotonic() + self._deadline
        text = b""
        while not text.endswith(b"\n") and not self._silent:
            if not poll.poll(_PATIENCE_MS):
                if time.monotonic() > end:
                    self._silent = True  # seen by the other readers' threads, which wait for the same NAS
                    os.kill(self._child, signal.SIGKILL)
                continue
            part = os.read(line.replies, 1 << 16)
            if not part:
                break
            text += part
        return text

    def _gone(self) -> NodeError:
        if self._silent:
            return NodeError(
                "source-silent",
                f"`{self.root}` has not answered for {self._deadline:g} seconds",
                "check that the NAS is up and mounted, then run again: it goes on where it stopped",
            )
        return NodeError("source-reader-ended", f"the process that reads `{self.root}` was ended", "run again")

    def close(self) -> None:
        """Ends the child, without waiting for one that hangs."""
        for line in self._lines:
            os.close(line.requests)
            os.close(line.replies)
        end = time.monotonic() + 0.5
        with suppress(ChildProcessError):
            while os.waitpid(self._child, os.WNOHANG) == (0, 0):
                if time.monotonic() > end:
                    os.kill(self._child, signal.SIGKILL)
                    break
                time.sleep(0.002)


def _refused(path: str, number: int, text: str) -> NodeError:
    if number in (errno.ENOENT, errno.ENOTDIR):
        return NodeError(
            "source-missing", f"`{path}` is not there", "check that the cache is mounted and holds the snapshot"
        )
    forbidden = number in (errno.EACCES, errno.EPERM)
    help = "run as a user who may read it" if forbidden else "check the disk or the NAS of the cache"
    return NodeError("source-unreadable", f"`{path}` cannot be read: {text}", help)


@contextmanager
def opened(root: str, limiter: Limiter | None = None) -> Iterator[Source]:
    """A source whose child ends with the block."""
    source = Source(root, limiter)
    try:
        yield source
    finally:
        source.close()
