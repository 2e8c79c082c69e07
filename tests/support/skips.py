"""Programs that a test may need, and which skips CI puts up with."""

import os
import shutil
from pathlib import Path

import pytest

# The whole list: what a skip's reason must contain for CI to accept it.
EXCUSED_IN_CI = ("there is no `shared` folder beside the repository",)


def excused_in_ci(reason: str) -> bool:
    return any(known in reason for known in EXCUSED_IN_CI)


def needs(*programs: str) -> pytest.MarkDecorator:
    """A mark that skips where one of the programs is missing, and names it."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    missing = [name for name in programs if not shutil.which(name, path=path) and not Path(name).exists()]
    return pytest.mark.skipif(bool(missing), reason=f"not installed here: {', '.join(missing)}")


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may do this")
