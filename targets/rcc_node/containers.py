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
            errors="replace",
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def using(folder: str) -> str | None:
    """The name of a running container that has `folder`, or something below it, mounted."""
    # One by one: where one of them ends meanwhile, the program's status for all would be a failure.
    for container in (ask("ps", "-q", "--no-trunc") or "").split():
        name, _, mounts = (ask("inspect", "--format", "{{.Name}} {{json .Mounts}}", container) or "").partition(" ")
        for source in map(os.path.realpath, _sources(mounts)):
            if os.path.commonpath((source, folder)) == folder:
                return name.lstrip("/")
    return None


def _sources(mounts: str) -> list[str]:
    try:
        return [mount.get("Source") or "/" for mount in json.loads(mounts) or ()]
    except (ValueError, TypeError, AttributeError):
        return []  # a program that answers otherwise than docker, or with nothing
