"""Debian's docker-registry on loopback, filled by skopeo: neither shares code with us."""

from __future__ import annotations

import hashlib
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.skips import find, needs
from tests.support.wait import wait_for

USER, PASSWORD = "spark", "correct-horse"
# bcrypt of that password, by another program.
HTPASSWD = "spark:$2b$05$abcdefghijklmnopqrstuuZ0Fx87Pb/Aqb0E90lfvCwzXnaFKUHpS\n"

needs_registry = needs("docker-registry", "skopeo")


@dataclass(frozen=True)
class Registry:
    """A running registry; `login` for skopeo where it wants one."""

    host: str
    login: tuple[str, ...] = ()

    def push(self, layout: Path, tag: str, name: str, how: str = "--preserve-digests") -> None:
        """Copies everything that a layout has under a tag to `name`, such as `spark/serve:1`."""
        options = ("--all", how, "--dest-tls-verify=false", *self._login("dest"))
        skopeo("copy", *options, f"oci:{layout}:{tag}", f"docker://{self.host}/{name}")

    def pull(self, name: str, layout: Path, tag: str) -> None:
        """Copies everything under a name into an OCI layout."""
        options = ("--all", "--preserve-digests", "--src-tls-verify=false")
        skopeo("copy", *options, f"docker://{self.host}/{name}", f"oci:{layout}:{tag}")

    def digest(self, name: str) -> str:
        """What `skopeo inspect --raw | sha256sum` says."""
        raw = skopeo("inspect", "--raw", "--tls-verify=false", *self._login(""), f"docker://{self.host}/{name}")
        return "sha256:" + hashlib.sha256(raw).hexdigest()

    def _login(self, side: str) -> tuple[str, ...]:
        return (f"--{side}-creds" if side else "--creds", ":".join(self.login)) if self.login else ()


def skopeo(*arguments: str) -> bytes:
    program = find("skopeo")
    assert program
    done = subprocess.run([program, *arguments], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@contextmanager
def run_registry(folder: Path, basic_auth: bool = False) -> Iterator[Registry]:
    """A registry that keeps what it is given below `folder`."""
    program = find("docker-registry")
    assert program
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{probe.getsockname()[1]}"
    config = folder / "registry.yml"
    auth = ""
    if basic_auth:
        (folder / "htpasswd").write_text(HTPASSWD)
        auth = f"auth:\n  htpasswd:\n    realm: tests\n    path: {folder}/htpasswd\n"
    storage = f"storage:\n  filesystem:\n    rootdirectory: {folder}/data\n  delete:\n    enabled: true\n"
    config.write_text(f"version: 0.1\nlog:\n  level: error\n{storage}http:\n  addr: {host}\n{auth}")
    with (folder / "registry.log").open("wb") as log:
        process = subprocess.Popen([program, "serve", str(config)], stdout=log, stderr=log)
    try:
        wait_for(lambda: process.poll() is not None or _answers(host), "the registry to answer")
        assert process.poll() is None, (folder / "registry.log").read_text()
        yield Registry(host, (USER, PASSWORD) if basic_auth else ())
    finally:
        process.terminate()
        process.wait()


def _answers(host: str) -> bool:
    try:
        urllib.request.urlopen(f"http://{host}/v2/", timeout=5).close()
    except urllib.error.HTTPError as error:
        with error:
            return error.code == 401
    except OSError:
        return False
    return True
