"""How fast staging is, against dd and plain sha256 on the same disk: `python -m tools.bench staging`.

Disks swing several-fold from run to run, so what is compared runs in turns, nine times: `stage` and dd copy the same
bytes of the same file, each to a place that was just emptied; `stage --full` and plain sha256 read what was staged.
A disk that was written to is slow for a while: so each copy comes after a check and each check after a copy, after
another one from round to round. Before each run all that is dirty is written, and source and copies are dropped from
the page cache. The bound is on the medians; their spread and the median of the rounds' own ratios are printed beside
it, and the load of the machine, without which a figure says little.
Takes a few minutes and 6 GiB below TMPDIR, which is best on a real disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rcc_node.build import zipapp
from tests.support.checkpoint import SCALE, WEIGHT, Checkpoint, make, tables

RUNS = 9
ROW = WEIGHT + SCALE
COPIED = 1 << 30
CHECKED = 4 << 30
SHARD = "model.safetensors"
BLOCK = 1 << 20
THREADS = min(2 * (os.cpu_count() or 1), 16)


@dataclass(frozen=True, slots=True)
class _Work:
    """What is timed: `run`, the folder that it makes anew, and how long it took each time."""

    run: Callable[[], object]
    makes: Path | None = None
    seconds: list[float] = field(default_factory=list)


def main() -> int:
    """Prints a line for each figure; 1 where one is over its bound."""
    folder = Path(tempfile.mkdtemp(prefix="rcc-bench-"))
    print(f"{'load':16} {os.getloadavg()[0]:5.2f} of {os.cpu_count()} processors")
    try:
        (folder / "rcc-node.pyz").write_bytes(zipapp())
        held = [*_copying(folder), *_sampling(folder)]
    finally:
        shutil.rmtree(folder)
    return int(not all(held))


def _copying(folder: Path) -> list[bool]:
    """Packing against dd, then a check of every byte against plain sha256."""
    root = folder / "copy"
    checkpoint = make(root, {SHARD: tables(1, COPIED // ROW)})
    ranges = [(0, (checkpoint.snapshot / SHARD).stat().st_size)]  # one rank stages header and rows, one piece
    stage = partial(_run, folder, root, checkpoint, "stage")
    copies = [_Work(partial(_dd, checkpoint, root / "dd", ranges), root / "dd"), _Work(stage, root / "dst")]
    checks = [_Work(partial(_sha256, root / "dst" / SHARD, ranges)), _Work(partial(stage, "--full"))]
    dd, packing = copies
    for number in range(RUNS):
        first, second = checks[:: 1 if number % 2 else -1]
        for work in (packing, first, dd, second):
            work.seconds.append(_timed(root, work))
    size = sum(end - start for start, end in ranges)
    held = [_compared("dd conv=fsync", "stage", copies, size), _compared("plain sha256", "stage --full", checks, size)]
    shutil.rmtree(root)
    return held


def _compared(yardstick: str, name: str, pair: list[_Work], size: int) -> bool:
    theirs, ours = (work.seconds for work in pair)
    for what, seconds in ((yardstick, theirs), (name, ours)):
        rates = sorted(size / 1e6 / one for one in seconds)
        print(f"{what:16} {statistics.median(rates):5.0f} MB/s ({rates[0]:.0f} to {rates[-1]:.0f}, {len(rates)} runs)")
    ratio = statistics.median(theirs) / statistics.median(ours)
    paired = statistics.median(one / other for one, other in zip(theirs, ours, strict=True))
    print(f"{'':16} {ratio:5.2f} x (at least 0.85; round by round {paired:.2f} x)", flush=True)
    return ratio >= 0.85


def _sampling(folder: Path) -> list[bool]:
    """The check before each start, of 4 GiB, and the memory that packing them and checking every byte takes."""
    root = folder / "check"
    checkpoint = make(root, {SHARD: tables(1, CHECKED // ROW, hole=True)})
    stage = partial(_run, folder, root, checkpoint, "stage")
    packer, reader = _memory(_command(folder, root, checkpoint, "stage"))
    checker, _ = _memory(_command(folder, root, checkpoint, "stage", "--full"))
    seconds = [_timed(root, _Work(stage)) for _ in range(RUNS)]
    middle, largest = statistics.median(seconds), max(packer, reader, checker)
    print(f"{'check of 4 GiB':16} {middle:5.2f} s ({min(seconds):.2f} to {max(seconds):.2f}; at most 0.5)")
    print(f"{'memory':16} {largest:5} MiB (packer {packer}, its reader {reader}, --full {checker}; at most 64)")
    return [middle <= 0.5, largest <= 64]


def _timed(root: Path, work: _Work) -> float:
    """Seconds of some work from a cold cache, with nothing where it writes."""
    if work.makes is not None:
        shutil.rmtree(work.makes, ignore_errors=True)
    _drop(root)
    start = time.monotonic()
    work.run()
    return time.monotonic() - start


def _drop(root: Path) -> None:
    """Takes files below a folder out of the page cache."""
    os.sync()
    for path in root.rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def _dd(checkpoint: Checkpoint, dst: Path, ranges: list[tuple[int, int]]) -> None:
    dst.mkdir()
    source, copy = checkpoint.snapshot / SHARD, dst / SHARD
    with open(copy, "wb") as file:
        file.truncate(source.stat().st_size)
    for start, end in ranges:
        place = [f"skip={start}", f"seek={start}", f"count={end - start}", "bs=1M", "conv=fsync,notrunc"]
        flags = ["iflag=skip_bytes,count_bytes", "oflag=seek_bytes", "status=none"]
        subprocess.run(["dd", f"if={source}", f"of={copy}", *place, *flags], check=True)


def _run(folder: Path, root: Path, checkpoint: Checkpoint, *arguments: str) -> None:
    quiet = subprocess.DEVNULL
    subprocess.run(_command(folder, root, checkpoint, *arguments), stdout=quiet, stderr=quiet, check=True)


def _command(folder: Path, root: Path, checkpoint: Checkpoint, *arguments: str) -> list[str]:
    block = {"id": "engram", "kind": "sparse-rows", "src": str(checkpoint.snapshot), "dst": str(root / "dst")}
    plan = root / "stage.json"
    plan.write_text(json.dumps({"version": 1, "id": "bench", "rank": 0, "world": 1, "blocks": [block]}))
    return [sys.executable, "-I", str(folder / "rcc-node.pyz"), *arguments, "--plan", str(plan)]


def _memory(command: list[str]) -> tuple[int, int]:
    """The largest resident memory of a packer and of its reader, in MiB."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    packer = reader = 0
    while process.poll() is None:
        packer = max(packer, _resident(str(process.pid)))
        for child in children.read_text().split():
            reader = max(reader, _resident(child))
        time.sleep(0.02)
    return packer, reader


def _resident(process: str) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) >> 10 for line in status.splitlines() if line.startswith("VmHWM:")), 0)


def _sha256(path: Path, ranges: list[tuple[int, int]]) -> None:
    """Hashes a file's ranges in blocks, as any program would that has no ledger to compare with."""
    blocks = [(at, min(at + BLOCK, end)) for start, end in ranges for at in range(start, end, BLOCK)]
    todo, lock = iter(blocks), threading.Lock()

    def work() -> None:
        with open(path, "rb", buffering=0) as file:
            while True:
                with lock:
                    block = next(todo, None)
                if block is None:
                    return
                hashlib.sha256(os.pread(file.fileno(), block[1] - block[0], block[0])).hexdigest()

    workers = [threading.Thread(target=work) for _ in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    sys.exit(main())
