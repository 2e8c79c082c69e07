"""How long `rcc lock` takes for a large model on a hub of loopback, and `--hash` against plain hashlib."""

from __future__ import annotations

import hashlib
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rcc.fetch.hashing import Claim, damaged
from rcc.fetch.progress import Quiet
from rcc.fetch.sources import Sources
from rcc.fetch.update import Upgrade, update
from rcc.lock.model import FileId
from rcc.lock.wanted import StagingRequest, Wanted, WantedModel, WantedStaging
from tests.support.large_hub import REPO, large_hub

ROUNDS = 7
SIZE = 256 << 20
AT_LEAST = 0.85
AT_MOST = 3.0


def main() -> int:
    """Prints a line a figure; 1 where one is off its bound."""
    return int(any([_lock(), _hash()]))


def _lock() -> bool:
    request = StagingRequest("sparse-rows", f"{REPO}@main", "sparse-copy", "layers.*.engram.embed.*", "base-rem", 4)
    wanted = Wanted(models=(WantedModel("model", REPO, "main"),), staging=(WantedStaging("engram", request),))
    times = []
    with large_hub() as hub:
        for _ in range(ROUNDS):
            began = time.perf_counter()
            with Sources(hub.environ) as sources:
                lock, _, found = update(wanted, None, sources, Upgrade())
            assert lock, found
            times.append(time.perf_counter() - began)
    took = statistics.median(times)
    late = took > AT_MOST
    print(f"rcc lock, 200 files in 48 shards: {took:.2f} s (at most {AT_MOST:g} s){'  TOO SLOW' if late else ''}")
    return late


def _hash() -> bool:
    """Interleaved, and the medians compared: other programs share the machine."""
    threads = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as name:
        paths = [Path(name) / str(number) for number in range(4)]
        for path in paths:
            path.write_bytes(os.urandom(1 << 20) * (SIZE >> 20))
        claims = [Claim(path.name, str(path), FileId(SIZE, sha256=_plain(path))) for path in paths]
        ratios = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(_plain, paths))
            half = time.perf_counter()
            assert damaged(claims, threads, Quiet()) == []
            ratios.append((half - began) / (time.perf_counter() - half))
    median = statistics.median(ratios)
    slow = median < AT_LEAST
    told = f"{median:.2f} x hashlib in {threads} threads (at least {AT_LEAST})"
    print(f"rcc lock --hash: {told}{'  TOO SLOW' if slow else ''}")
    return slow


def _plain(path: Path) -> str:
    state = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while block := file.read(1 << 20):
            state.update(block)
    return state.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
