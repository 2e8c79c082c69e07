"""The user's own cache folder: for what takes long to make and must not be written by others."""

from __future__ import annotations

import os
from pathlib import Path


def own_cache() -> Path | None:
    """`$XDG_CACHE_HOME/rcc` or `~/.cache/rcc`, made where missing; None unless it is the user's alone to write to.

    What lies there is loaded as code or as pickles: who can write it runs code here.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    folder = Path(base if os.path.isabs(base) else os.path.expanduser("~/.cache")) / "rcc"
    if not folder.is_absolute():
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return None
    safe = folder.is_dir() and not folder.is_symlink() and status.st_uid == os.geteuid() and not status.st_mode & 0o022
    return folder if safe else None
