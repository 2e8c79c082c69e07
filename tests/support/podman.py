"""Real containers without a daemon: podman in a mount namespace, with a store of its own, all gone afterwards.

`docker` is one program name that takes docker's command line, for RCC_DOCKER; `service()` answers docker's API, for
the docker CLI and compose. Containers get the host's network.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.images import busybox_root
from tests.support.skips import require
from tests.support.wait import wait_for

_CONTAINERS_CONF = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
netns = "host"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
runtime = "crun"
tmp_dir = "{folder}/tmp"
"""
_STORAGE_CONF = """\
[storage]
driver = "overlay"
graphroot = "{folder}/root"
runroot = "{folder}/run"
"""
# An unlimited memlock, which this machine's root may not grant, is left out. The working folder is entered anew, since
# that of another namespace is none of ours.
_DOCKER = """\
#!{python} -IS
import os, sys
words = sys.argv[1:]
for at in reversed(range(len(words))):
    if words[at].startswith("--ulimit=memlock=-1"):
        del words[at]
    elif words[at] == "--ulimit" and words[at + 1].startswith("memlock=-1"):
        del words[at : at + 2]
os.environ["CONTAINERS_CONF"] = "{folder}/containers.conf"
os.environ["CONTAINERS_STORAGE_CONF"] = "{folder}/storage.conf"
enter = ["nsenter", "--target={holder}", "--mount", "sh", "-c", 'cd "$0" && exec podman "$@"', os.getcwd()]
os.execvp("nsenter", enter + words)
"""
# Podman takes a mixed tree of control groups for the new kind if it sees the new one in it.
_HOLD = "mountpoint -q /sys/fs/cgroup/unified && umount /sys/fs/cgroup/unified; echo ready; exec cat"


class Podman:
    """A store of images and containers."""

    def __init__(self, folder: Path, holder: int) -> None:
        self.folder = folder
        self.docker = folder / "docker"
        for path, text in {
            folder / "containers.conf": _CONTAINERS_CONF,
            folder / "storage.conf": _STORAGE_CONF,
            self.docker: _DOCKER,
        }.items():
            path.write_text(text.format(folder=folder, holder=holder, python=sys.executable))
        self.docker.chmod(0o755)

    def __call__(self, *args: str, check: bool = True, stdin: bytes = b"") -> str:
        """`podman ARGS`: its stdout; its stderr is in the failure."""
        done = subprocess.run([str(self.docker), *args], input=stdin, capture_output=True, check=False)
        assert not (check and done.returncode), f"podman {' '.join(args)}: {done.stderr.decode()}"
        return done.stdout.decode()

    def inspect(self, name: str) -> dict[str, Any]:
        (found,) = json.loads(self("inspect", name))
        return dict(found)

    def names(self) -> list[str]:
        """Every container, also stopped ones."""
        return sorted(self("ps", "--all", "--format", "{{.Names}}").split())

    def image(self, tag: str, files: Mapping[str, str | bytes] | None = None, **changes: str) -> str:
        """An image with busybox's programs and these files, text ones executable; returns `tag`.

        `changes` are Containerfile instructions: `ENTRYPOINT='["/bin/sh"]'`, `ENV="A=b"`.
        """
        words = [f"--change={name} {value}" for name, value in sorted(changes.items())]
        self("import", "--quiet", *words, "-", tag, stdin=busybox_root(files or {}))
        return tag

    @contextmanager
    def service(self) -> Iterator[str]:
        """docker's API, as a value for DOCKER_HOST."""
        socket = self.folder / "api.sock"
        words = [str(self.docker), "system", "service", "--time=0", f"unix://{socket}"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                wait_for(socket.exists, "podman's service")
                yield f"unix://{socket}"
            finally:
                server.terminate()
        socket.unlink(missing_ok=True)


@contextmanager
def own_podman() -> Iterator[Podman]:
    """A store that lives as long as the block."""
    require("podman", "crun", "busybox", "nsenter", "unshare", root=True)
    # A short path: sockets lie below it.
    with tempfile.TemporaryDirectory(prefix="rcc-podman-") as name, _namespace() as holder:
        podman = Podman(Path(name), holder)
        try:
            yield podman
        finally:
            podman("rm", "--all", "--force", "--time=0", check=False)
            podman("system", "reset", "--force", check=False)


@contextmanager
def _namespace() -> Iterator[int]:
    """The pid of a process that keeps a mount namespace alive until its stdin ends."""
    words = ["unshare", "--mount", "sh", "-c", _HOLD]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin
        assert holder.stdout
        assert holder.stdout.readline() == b"ready\n"
        yield holder.pid
        holder.stdin.close()
