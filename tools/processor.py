"""What a process costs, whatever else the machine does."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path


def processor_seconds(words: tuple[str, ...], work: Path, worst: int) -> float:
    """Seconds of processor time of a command of rcc in a folder; its exit code must be at most `worst`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {**os.environ, "XDG_CACHE_HOME": str(work / "cache")}
    done = subprocess.run(words, cwd=work, env=env, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not 0 <= done.returncode <= worst:
        raise SystemExit(f"{' '.join(words[:4])}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
