"""The shells that a script for `sh` may meet."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.cli import PATH
from tests.support.skips import find

SHELLS = {"dash": ["dash"], "ash": ["busybox", "ash"], "bash": ["bash", "--posix"]}


def shell_words(name: str) -> list[str]:
    """The command of a shell, by whole path, so that PATH may be anything."""
    program, *rest = SHELLS[name]
    found = find(program)
    assert found, program
    return [found, *rest]


def run_sh(
    shell: str, *words: str | bytes | Path, env: Mapping[str, str] | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """A script and its arguments under a shell, in an environment that owes nothing to the caller's."""
    return subprocess.run(
        [*shell_words(shell), *words],
        env={"PATH": PATH, **(env or {})},
        input=stdin,
        capture_output=True,
        check=False,
    )
