"""The command line as a user meets it, in a process of its own or, faster, in this one."""

import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

_CACHE = tempfile.TemporaryDirectory(prefix="rcc-cache-")
PATH = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"


@dataclass(frozen=True, slots=True)
class Ran:
    """How one call ended; `text` is both streams, for messages of failing tests."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    def json(self) -> Any:
        """What stdout says, read as JSON."""
        return json.loads(self.out)


def clean_env(home: Path, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment that owes nothing to the caller's, with its own home folder; the run has one cache of its own."""
    return {"PATH": PATH, "HOME": str(home), "LANG": "C.UTF-8", "XDG_CACHE_HOME": _CACHE.name, **(env or {})}


def run_rcc(
    *args: str | os.PathLike[str],
    cwd: Path,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    python_options: tuple[str, ...] = (),
) -> Ran:
    """`rcc ARGS` in a fresh process. HOME is `cwd` unless `env` names another."""
    command = [
        sys.executable,
        *python_options,
        str(Path(sys.executable).with_name("rcc")),
        *(os.fspath(a) for a in args),
    ]
    done = subprocess.run(command, cwd=cwd, env=clean_env(cwd, env), input=stdin, capture_output=True, check=False)
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def call_rcc(*args: str | os.PathLike[str], cwd: Path, env: Mapping[str, str] | None = None, stdin: bytes = b"") -> Ran:
    """The same within this process: much faster, but what was imported before stays imported."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n", write_through=True) for _ in range(2))
    with (
        chdir(cwd),
        patch.dict(os.environ, clean_env(cwd, env), clear=True),
        patch.multiple(
            sys, argv=["rcc", *(os.fspath(a) for a in args)], stdin=io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
        ),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = _exit_code()
    return Ran(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def _exit_code() -> int:
    from rcc.cli import main

    try:
        main()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    return 0
