"""How long `rcc lint` takes, a process each, for the largest files that it reads, when nothing in them is right."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from rcc.lock.read import MAX_BYTES as LARGEST_LOCK
from rcc.syntax.document import MAX_BYTES
from tools.hostile import CLUSTERS, LOCKS, PAIRS, SHAPES
from tools.processor import processor_seconds

RCC = (sys.executable, str(Path(sys.executable).with_name("rcc")))
AT_MOST = 1.0
UNREADABLE = 2


def main() -> bool:
    """Prints a line a file; whether one takes more processor time than it may."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        _seconds(work, "warm.recipe.toml", b"name = 1\n")  # the parser's tables are made once for a user
        late = [_tell(work, "recipe.toml", shape, make(MAX_BYTES)) for shape, make in SHAPES.items()]
        late += [_tell(work, "cluster.toml", shape, make(MAX_BYTES)) for shape, make in CLUSTERS.items()]
        late += [_tell(work, "bad.lock", shape, make(LARGEST_LOCK)) for shape, make in LOCKS.items()]
        late += [_tell(work, "recipe.toml", shape, *(one(MAX_BYTES) for one in both)) for shape, both in PAIRS.items()]
    return any(late)


def _tell(work: Path, file: str, shape: str, data: bytes, cluster: bytes | None = None) -> bool:
    took = min(_seconds(work, file, data, cluster) for _ in range(2))
    late = took > AT_MOST
    told = f"{took:.2f} s (at most {AT_MOST:g} s){'  TOO SLOW' if late else ''}"
    print(f"rcc lint, {'two of ' if cluster else ''}{len(data) / 1024:.0f} KiB, {shape:<32} {told}")
    return late


def _seconds(work: Path, file: str, data: bytes, cluster: bytes | None = None) -> float:
    """Seconds of processor time to lint a file, with its cluster where there is one."""
    (work / file).write_bytes(data)
    if cluster is not None:
        (work / "with.cluster.toml").write_bytes(cluster)
    options = () if cluster is None else ("-c", "with.cluster.toml")
    return processor_seconds((*RCC, "lint", *options, file), work, UNREADABLE)


if __name__ == "__main__":
    sys.exit(main())
