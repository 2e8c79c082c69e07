"""The files that are written, opened once: a handle that stays open hears of every write that failed later."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from rcc_node.direct import DirectFile
from rcc_node.goal import StagedFile
from rcc_node.place import Place


class Outputs:
    """Handles of a goal's files below `folder` of a place."""

    def __init__(self, place: Place, folder: str, files: Sequence[StagedFile]) -> None:
        self._place = place
        self._folder = folder
        self._files = files
        self._handles: dict[int, DirectFile] = {}
        self._lock = threading.Lock()

    def path(self, number: int) -> str:
        """A file's path in the place."""
        return f"{self._folder}{self._files[number].name}"

    def handle(self, number: int) -> DirectFile:
        """A file to read and write, by its number in the goal."""
        with self._lock:
            if number not in self._handles:
                self._handles[number] = DirectFile(lambda flags: self._place.open(self.path(number), flags), os.O_RDWR)
            return self._handles[number]

    def is_there(self, number: int) -> bool:
        """Whether a file exists and has its size."""
        return self._place.size(self.path(number)) == self._files[number].size

    def create(self, numbers: Collection[int]) -> None:
        """Gives files their size; what is new of them is hole."""
        for number in numbers:
            fd = self._place.open(self.path(number), os.O_RDWR | os.O_CREAT)
            os.ftruncate(fd, self._files[number].size)
            os.close(fd)
        self._place.sync(self.path(number) for number in numbers)

    def close(self) -> None:
        for handle in self._handles.values():
            handle.close()


@contextmanager
def opened(place: Place, folder: str, files: Sequence[StagedFile]) -> Iterator[Outputs]:
    """Outputs that are closed with the block. `folder` is empty, or ends with a slash."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    outputs = Outputs(place, folder, files)
    try:
        yield outputs
    finally:
        outputs.close()
