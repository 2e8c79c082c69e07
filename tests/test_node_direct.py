"""Files read and written past the page cache: the same bytes at any offset, wherever direct I/O ends."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable
from mmap import mmap
from pathlib import Path

import pytest

from rcc_node import shared
from rcc_node.direct import BLOCK, HUGE, DirectFile, buffer_for

Opener = Callable[[Path], Callable[[int], int]]

SIZE = 5 * BLOCK + 77
RANGES = [
    (0, SIZE),
    (0, 1),
    (1, BLOCK - 1),
    (BLOCK - 1, 2),
    (BLOCK, 2 * BLOCK),
    (100, 100),
    (7, 2 * BLOCK),
    (BLOCK + 5, 3 * BLOCK + 9),
    (SIZE - 78, 78),
]


def holding(data: bytes, offset: int) -> mmap:
    """A buffer with bytes that lie as those from `offset` in a file do."""
    buffer = buffer_for(len(data))
    buffer[offset % BLOCK : offset % BLOCK + len(data)] = data
    return buffer


def plain(path: Path) -> Callable[[int], int]:
    return lambda flags: os.open(path, flags)


def without_direct(path: Path) -> Callable[[int], int]:
    """A file system that refuses to open a file for direct I/O."""

    def open_file(flags: int) -> int:
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, "no direct I/O")
        return os.open(path, flags)

    return open_file


@pytest.fixture(params=[plain, without_direct, "refused later"])
def opener(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Opener:
    if request.param != "refused later":
        return request.param  # type: ignore[no-any-return]
    opened: set[int] = set()

    def refusing(call: Callable[..., int]) -> Callable[..., int]:
        def run(fd: int, *arguments: object) -> int:
            if fd in opened:
                raise OSError(errno.EINVAL, "not here")
            return call(fd, *arguments)

        return run

    def open_file(path: Path) -> Callable[[int], int]:
        def run(flags: int) -> int:
            fd = os.open(path, flags)
            opened.update([fd] if flags & os.O_DIRECT else [])
            return fd

        return run

    monkeypatch.setattr(os, "preadv", refusing(os.preadv))
    monkeypatch.setattr(os, "pwrite", refusing(os.pwrite))
    return open_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(random.Random(1).randbytes(SIZE))
    return path


@pytest.mark.parametrize(("offset", "length"), RANGES)
def test_any_range_is_read(opener: Opener, path: Path, offset: int, length: int) -> None:
    file = DirectFile(opener(path))
    assert bytes(file.read(buffer_for(SIZE), offset, length)) == path.read_bytes()[offset : offset + length]
    file.close()


def test_the_end_of_the_file_is_where_reading_ends(opener: Opener, path: Path) -> None:
    file = DirectFile(opener(path))
    assert bytes(file.read(buffer_for(SIZE), SIZE - 5, 100)) == path.read_bytes()[-5:]
    assert len(file.read(buffer_for(SIZE), SIZE + BLOCK, 100)) == 0
    file.close()


@pytest.mark.parametrize(("offset", "length"), RANGES)
def test_any_range_is_written_and_nothing_beside_it(opener: Opener, path: Path, offset: int, length: int) -> None:
    expected = bytearray(path.read_bytes())
    data = random.Random(2).randbytes(length)
    expected[offset : offset + length] = data
    file = DirectFile(opener(path), os.O_RDWR)
    file.write(holding(data, offset), offset, length)
    os.fdatasync(file.fileno())
    assert path.read_bytes() == expected
    assert bytes(file.read(buffer_for(SIZE), 0, SIZE)) == expected
    file.close()


def test_what_was_cached_before_is_not_seen_after_a_write(path: Path) -> None:
    before = path.read_bytes()
    file = DirectFile(plain(path), os.O_RDWR)
    file.write(holding(before[:BLOCK], BLOCK), BLOCK, BLOCK)
    assert path.read_bytes() == before[:BLOCK] + before[:BLOCK] + before[2 * BLOCK :]
    file.close()


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_other_failures_are_no_reason_to_go_by_the_cache(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def failing(fd: int, data: object, offset: int) -> int:
        raise OSError(number, "failed")

    monkeypatch.setattr(os, "pwrite", failing)
    file = DirectFile(plain(path), os.O_RDWR)
    with pytest.raises(OSError, match="failed") as failure:
        file.write(buffer_for(BLOCK), 0, BLOCK)
    assert failure.value.errno == number
    file.close()


@pytest.mark.parametrize("missing", [None, "memfd_create", "posix_fallocate"])
def test_what_a_forked_process_reads_is_there_for_this_one(
    path: Path, monkeypatch: pytest.MonkeyPatch, missing: str | None
) -> None:
    def refuse(*_arguments: object) -> int:
        raise OSError(errno.ENOSYS, "not in this kernel")

    if missing is not None:
        monkeypatch.setattr(os, missing, refuse)
    first, second = shared.buffers(2)
    assert len(first) == len(second) == HUGE
    child = os.fork()
    if child == 0:
        DirectFile(plain(path)).read(second, 7, SIZE - 7)
        os._exit(0)
    assert os.waitpid(child, 0) == (child, 0)
    assert second[7:SIZE] == path.read_bytes()[7:]
    assert not any(first)
