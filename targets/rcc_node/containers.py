"""What the docker program knows, where there is one and it answers."""

from __future__ import annotations

import json
import os
import subprocess

_SECONDS = 10


def program() -> str:
    """The docker program: `docker`, or what RCC_DOCKER names."""
    return os.environ.get("RCC_DOCKER") or "docker"


def ask(*arguments: str) -> str | None:
    """The program's answer; None where it is missing, fails or hangs."""
    try:
        done = subprocess.run(  # noqa: S603
            [program(), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def using(folder: str) -> str | None:
    """The name of a running container that has `folder`, or something below it, mounted."""
    running = (ask("ps", "-q", "--no-trunc") or "").split()
    if not running:
        return None
    lines = ask("inspect", "--format", "{{.Name}} {{json .Mounts}}", *running) or ""
    for line in lines.splitlines():
        name, _, mounts = line.partition(" ")
        for mount in json.loads(mounts) or ():
            source = os.path.realpath(mount.get("Source") or "/")
            if os.path.commonpath((source, folder)) == folder:
                return name.lstrip("/")
    return None
