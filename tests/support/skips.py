"""Programs that a test may need, and which skips CI puts up with."""

import os
import shutil

import pytest

# The whole list: what a skip's reason must contain for CI to accept it.
EXCUSED_IN_CI = ("there is no `shared` folder beside the repository",)
_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def excused_in_ci(reason: str) -> bool:
    return any(known in reason for known in EXCUSED_IN_CI)


def find(program: str) -> str | None:
    """The path of a program, also of one that only root's PATH has."""
    return shutil.which(program, path=_PATH)


def _missing(programs: tuple[str, ...]) -> str:
    names = [name for name in programs if not find(name)]
    return f"not installed here: {', '.join(names)}" if names else ""


def needs(*programs: str) -> pytest.MarkDecorator:
    """A mark that skips where one of the programs is missing, and names it."""
    return pytest.mark.skipif(bool(_missing(programs)), reason=_missing(programs))


def require(*programs: str, root: bool = False) -> None:
    """The same within a fixture."""
    if reason := _missing(programs):
        pytest.skip(reason)
    if root and os.geteuid() != 0:
        pytest.skip("only root may do this")


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may do this")
