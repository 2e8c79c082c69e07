"""A cache in a process of its own, which alone touches it: a file server that is gone hangs that, and not us."""

from __future__ import annotations

import copyreg
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import fields
from multiprocessing.connection import Connection, Pipe
from threading import Lock
from typing import Any

from rcc.diagnostic import Finding, Findings
from rcc.fetch.cache import Cache
from rcc.fetch.failure import FetchError
from rcc.fetch.model import Snapshot
from rcc.fetch.progress import Progress
from rcc.lock.model import FileId

PATIENCE = 10.0
"""Seconds in which something must come of a cache: an answer, or word of how far it is."""

_LAST = 1.0
"""Seconds in which a process that was killed is gone, unless the kernel keeps it."""

Told = tuple[str, Any]
"""What the process says: `begin` and `advance` of progress, and `answer`, `refused` or `failed` at the end."""


class Apart:
    """The models of the cache in `folder`. Close it, or the process stays."""

    def __init__(self, folder: str, progress: Progress) -> None:
        self._folder, self._progress = folder, progress
        self._one_at_a_time = Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._ours: Connection[Any, Any] | None = None
        self._gone = False

    def snapshot(self, repo: str, revision: str) -> Snapshot:
        """As the cache."""
        found: Snapshot = self._ask("snapshot", repo, revision)
        return found

    def read(self, snapshot: Snapshot, path: str, start: int, end: int) -> bytes:
        """As the cache."""
        data: bytes = self._ask("read", snapshot, path, start, end)
        return data

    def verify(self, snapshot: Snapshot) -> Findings:
        """As the cache."""
        found: Findings = self._ask("verify", snapshot)
        return found

    def close(self) -> None:
        """Ends the process; one that hangs in the kernel is left to that."""
        if self._ours is not None:
            self._ours.close()
        if self._child is not None:
            self._child.kill()
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(_LAST)

    def _ask(self, method: str, *arguments: Any) -> Any:
        with self._one_at_a_time:
            ours = self._ours or self._start()
            if self._gone:
                raise self._silent()
            try:
                ours.send((method, arguments))
                kind, value = self._end(ours)
            except (EOFError, ConnectionError) as error:
                message = f"what reads the cache `{self._folder}` was ended from outside"
                raise FetchError("RCC1216", message, "run it again, with more memory if that ran out") from error
        if kind == "refused":
            raise FetchError(value.code, value.message, value.help or "", value.notes)
        if kind == "failed":
            raise value
        return value

    def _start(self) -> Connection[Any, Any]:
        self._ours, theirs = Pipe()
        with theirs:
            handle = theirs.fileno()
            self._child = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-P", "-m", __name__, str(handle), self._folder],
                pass_fds=(handle,),
                # One that hangs keeps nothing of who called us.
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        return self._ours

    def _end(self, ours: Connection[Any, Any]) -> Told:
        """What is said last; progress until then."""
        while ours.poll(PATIENCE):
            told: Told = ours.recv()
            kind, value = told
            if kind not in ("begin", "advance"):
                return told
            getattr(self._progress, kind)(*value)
        self._gone = True
        raise self._silent()

    def _silent(self) -> FetchError:
        message = f"the cache `{self._folder}` does not answer: nothing came of it for {PATIENCE:g} s"
        return FetchError("RCC1216", message, "look at its file server, or name another cache")


class _Teller:
    """Progress of the process, for us."""

    def __init__(self, theirs: Connection[Any, Any]) -> None:
        self._theirs = theirs
        self._one_at_a_time = Lock()

    def begin(self, what: str, total: int) -> None:
        self.tell("begin", (what, total))

    def advance(self, units: int) -> None:
        self.tell("advance", (units,))

    def tell(self, kind: str, value: Any) -> None:
        with self._one_at_a_time:
            self._theirs.send((kind, value))


def _serve(handle: int, folder: str) -> None:
    """Answers until nobody asks any more."""
    theirs: Connection[Any, Any] = Connection(handle)
    teller = _Teller(theirs)
    cache = Cache(folder, os.cpu_count() or 1, teller)
    while True:
        try:
            method, arguments = theirs.recv()
        except EOFError:
            return
        try:
            teller.tell("answer", getattr(cache, method)(*arguments))
        except FetchError as error:
            teller.tell("refused", error.finding)
        except Exception as error:  # told there, as if it had happened there
            teller.tell("failed", error)


def _parts(value: Any) -> tuple[Any, ...]:
    return type(value), tuple(getattr(value, one.name) for one in fields(value))


for _kind in (Finding, FileId, Snapshot):
    copyreg.pickle(_kind, _parts)

if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2])
