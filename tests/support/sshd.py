"""Machines to log in to: an sshd per machine on 127.0.0.11, .12, …, with keys made for the occasion.

Each has its own home folder (`~` and the folder a session starts in) and its own folder of programs first on PATH.
"""

import os
import pwd
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.cli import PATH
from tests.support.skips import find, require
from tests.support.wait import wait_for

_SSHD = """\
ListenAddress {address}:{port}
HostKey {key}
AuthorizedKeysFile {user_key}.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
MaxStartups 100
SetEnv HOME={home} PATH={programs}:{path}
Subsystem sftp internal-sftp
ForceCommand cd ~ && exec bash -c "${{SSH_ORIGINAL_COMMAND:-bash}}"
"""
# Nothing here is secret, and the default key exchange takes seven times as long.
_CLIENT = """\
Host {address}
    Port {port}
    User {user}
    IdentityFile {user_key}
    IdentitiesOnly yes
    KexAlgorithms curve25519-sha256
    UserKnownHostsFile {known}
    GlobalKnownHostsFile /dev/null
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine; `stop()` makes it one that cannot be reached."""

    address: str
    home: Path
    programs: Path
    server: subprocess.Popen[bytes]

    def stop(self) -> None:
        self.server.terminate()
        self.server.wait()


@dataclass(frozen=True, slots=True)
class Machines:
    """`ssh` is one program name that knows ports, user, keys and hosts of all of them, for RCC_SSH."""

    machines: tuple[Machine, ...]
    ssh: Path

    def __iter__(self) -> Iterator[Machine]:
        return iter(self.machines)

    def __getitem__(self, at: int) -> Machine:
        return self.machines[at]

    def run(self, at: int, script: str) -> str:
        """What a script prints on one of them."""
        words = [str(self.ssh), self[at].address, "bash", "-s"]
        return subprocess.run(words, input=script.encode(), check=True, stdout=subprocess.PIPE).stdout.decode()


@contextmanager
def ssh_machines(folder: Path, count: int, first: int = 11) -> Iterator[Machines]:
    """`count` machines with all their files below `folder`."""
    require("sshd", "ssh", "ssh-keygen", "bash")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    user_key, known = folder / "user_key", folder / "known_hosts"
    _keygen(user_key)
    ssh = folder / "ssh"
    ssh.write_text(f'#!/bin/sh\nexec {find("ssh")} -F {folder}/config "$@"\n')
    ssh.chmod(0o755)
    with ExitStack() as stack:
        machines = []
        for number in range(first, first + count):
            machine, port = _start(stack, folder, f"127.0.0.{number}", user_key)
            machines.append(machine)
            _tell(folder, machine.address, port, user_key, known)
        yield Machines(tuple(machines), ssh)


def _start(stack: ExitStack, folder: Path, address: str, user_key: Path) -> tuple[Machine, int]:
    place = folder / address
    home, programs, key = place / "home", place / "bin", place / "host_key"
    home.mkdir(parents=True)
    programs.mkdir()
    _keygen(key)
    with socket.socket() as probe:
        probe.bind((address, 0))
        port = probe.getsockname()[1]
    settings = place / "sshd_config"
    where = {"address": address, "port": port, "home": home, "programs": programs, "path": PATH}
    settings.write_text(_SSHD.format(key=key, user_key=user_key, **where))
    log = stack.enter_context((place / "log").open("wb"))
    server = stack.enter_context(subprocess.Popen([str(find("sshd")), "-D", "-e", "-f", str(settings)], stderr=log))
    stack.callback(server.terminate)
    wait_for(lambda: _listens(address, port), f"sshd on {address}: {(place / 'log').read_text()}")
    return Machine(address, home, programs, server), port


def _listens(address: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0


def _keygen(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)], check=True)


def _tell(folder: Path, address: str, port: int, user_key: Path, known: Path) -> None:
    """The client's side: where the machine listens and which key it has."""
    user = pwd.getpwuid(os.geteuid()).pw_name
    with (folder / "config").open("a") as config:
        config.write(_CLIENT.format(address=address, port=port, user=user, user_key=user_key, known=known))
    public = (folder / address / "host_key.pub").read_text()
    with known.open("a") as lines:
        lines.write(f"[{address}]:{port} {public}")
