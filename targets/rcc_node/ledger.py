"""The ledger of a stage: what it holds, and a hash for each chunk that is on the disk.

`ledger.json` is one line of JSON and one line with its hash. `hashes` has a line of fixed width for each chunk:
bytes staged (hex), sha256 over them, and a check sum that binds the line to this ledger and to its place in it,
so that a torn or misplaced line counts as no line.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator

from rcc_node.goal import Chunks, Goal, read_goal
from rcc_node.place import OURS, Place

HERE = OURS
"""Folder of the ledger of what is staged."""

_LINE = 8 + 1 + 64 + 1 + 8 + 1
_LINES_A_READ = 1024


class Damaged(Exception):  # noqa: N818
    """A ledger that cannot be read."""


class Ledger:
    """An open ledger. `sync` makes noted lines durable; what they speak of must be durable before."""

    def __init__(self, goal: Goal, seal: str, fd: int) -> None:
        self.goal = goal
        self.chunks = Chunks(goal.files)
        self._seal = seal
        self._fd = fd

    def close(self) -> None:
        os.close(self._fd)

    def note(self, index: int, count: int, digest: str) -> None:
        """Says that the first `count` bytes of a chunk are on the disk. `digest` is the hex sha256 over them."""
        body = f"{count:08x} {digest}"
        os.pwrite(self._fd, f"{body} {self._check(index, body)}\n".encode(), index * _LINE)

    def forget(self, index: int) -> None:
        os.pwrite(self._fd, b" " * (_LINE - 1) + b"\n", index * _LINE)

    def sync(self) -> None:
        os.fdatasync(self._fd)

    def line(self, index: int) -> tuple[int, str]:
        """Bytes of a chunk that are staged and the hex sha256 over them; 0 where the ledger has no valid line."""
        return self._parsed(index, os.pread(self._fd, _LINE, index * _LINE))

    def lines(self) -> Iterator[tuple[int, str]]:
        """All lines, in order."""
        for first in range(0, len(self.chunks), _LINES_A_READ):
            count = min(_LINES_A_READ, len(self.chunks) - first)
            block = os.pread(self._fd, count * _LINE, first * _LINE)
            for place in range(count):
                yield self._parsed(first + place, block[place * _LINE : (place + 1) * _LINE])

    def _parsed(self, index: int, line: bytes) -> tuple[int, str]:
        body, check = line[:73].decode("ascii", "replace"), line[74:82].decode("ascii", "replace")
        if len(line) != _LINE or check != self._check(index, body):
            return 0, ""
        return int(body[:8], 16), body[9:]

    def _check(self, index: int, body: str) -> str:
        return f"{zlib.crc32(f'{self._seal} {index} {body}'.encode()):08x}"


def create(place: Place, folder: str, goal: Goal) -> Ledger:
    """A new, empty ledger."""
    text = json.dumps(goal.document())
    seal = hashlib.sha256(text.encode()).hexdigest()
    fd = place.open(f"{folder}/hashes", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.ftruncate(fd, len(Chunks(goal.files)) * _LINE)
    place.write(f"{folder}/ledger.json", f"{text}\n{seal}\n".encode())
    place.sync([f"{folder}/ledger.json"])
    return Ledger(goal, seal, fd)


def read_head(place: Place, folder: str) -> tuple[Goal, str] | None:
    """A ledger's goal and seal, None where there is no ledger."""
    data = place.read(f"{folder}/ledger.json")
    if data is None:
        return None
    try:
        text, seal = data.decode().splitlines()
        if hashlib.sha256(text.encode()).hexdigest() != seal:
            raise Damaged
        return read_goal(json.loads(text)), seal
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged from error


def read(place: Place, folder: str, writable: bool = False) -> Ledger | None:
    """The ledger in a folder, None where there is none."""
    head = read_head(place, folder)
    if head is None:
        return None
    goal, seal = head
    try:
        fd = place.open(f"{folder}/hashes", os.O_RDWR if writable else os.O_RDONLY)
    except FileNotFoundError as error:
        raise Damaged from error
    return Ledger(goal, seal, fd)


def carry_over(old: Ledger, new: Ledger, pairs: Iterable[tuple[int, int]]) -> None:
    """Notes in `new` what `old` knows, for pairs of old and new chunk."""
    for before, after in pairs:
        count, digest = old.line(before)
        if count:
            new.note(after, count, digest)
