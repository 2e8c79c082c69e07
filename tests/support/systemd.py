"""A real systemd, in namespaces of its own, that reads units from a folder and can be asked as any other.

It is a user's manager run by root: as the first process of a machine it would take over more than a test should.
Needs root and the new kind of control groups; nothing of it is left afterwards.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.skips import find, require
from tests.support.wait import wait_for

SYSTEMD = "/usr/lib/systemd/systemd"
_GROUPS = Path("/sys/fs/cgroup/unified") if Path("/sys/fs/cgroup/unified").is_dir() else Path("/sys/fs/cgroup")
# systemd says that it runs a machine only where /run/systemd/system is, and its programs ask for that. It is no first
# process here, so that one waits for stdin to end and then takes all others with it. Mounts are shared, as on a
# machine: systemd mounts credentials in a namespace of their own.
_INSIDE = f"""\
umount -R /sys/fs/cgroup 2>/dev/null || umount -l /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system
mkdir -m 700 /run/user
mount --make-rshared /
{SYSTEMD} --user --unit=basic.target </dev/null &
cat >/dev/null
"""


@dataclass(frozen=True, slots=True)
class Manager:
    """`pid` is, outside, the first process of the namespaces."""

    pid: int
    env: dict[str, str]
    log: Path

    def systemctl(self, *args: str, check: bool = True) -> str:
        """`systemctl ARGS`: its stdout. With `check`, a failure shows what systemd logged."""
        inside = ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--cgroup"]
        done = subprocess.run([*inside, "systemctl", "--user", *args], env=self.env, capture_output=True, check=False)
        assert not (check and done.returncode), f"{args}: {done.stderr.decode()}{self.log.read_text()}"
        return done.stdout.decode()

    def start(self, *units: str) -> None:
        """Starts units and waits for their jobs."""
        self.systemctl("start", *units)

    def state(self, unit: str) -> str:
        return self.systemctl("show", "--property=ActiveState", "--value", unit).strip()

    def wait_for_state(self, unit: str, state: str) -> None:
        wait_for(lambda: self.state(unit) == state, f"{unit} to be {state}")


@contextmanager
def systemd(units: Path, work: Path) -> Iterator[Manager]:
    """A manager of the units in a folder. `work` gets its log and is its home folder."""
    require("unshare", "nsenter", "systemctl", root=True)
    if not Path(SYSTEMD).exists() or not (_GROUPS / "cgroup.procs").exists():
        pytest.skip("not installed here: systemd, or the new kind of control groups")
    env = {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": str(work),
        "LANG": "C.UTF-8",
        "XDG_RUNTIME_DIR": "/run/user",
        "SYSTEMD_UNIT_PATH": f"{units}:",
        "SYSTEMD_LOG_TARGET": "console",
    }
    with _group() as group, (work / "systemd.log").open("wb") as log:
        enter = f'echo $$ >"$0/cgroup.procs"; exec {find("unshare")} -m -p -C -f --mount-proc --kill-child sh -c "$1"'
        words = ["sh", "-c", enter, str(group), _INSIDE]
        with subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=log, stderr=log) as outer:
            try:
                pid = wait_for(lambda: _child(outer.pid), "the namespaces")
                manager = Manager(pid, env, work / "systemd.log")
                wait_for(lambda: _runs(manager), "systemd")
                yield manager
            finally:
                assert outer.stdin
                outer.stdin.close()


def _child(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else 0


def _runs(manager: Manager) -> bool:
    return manager.systemctl("is-system-running", check=False).strip() in {"running", "degraded"}


@contextmanager
def _group() -> Iterator[Path]:
    """A control group that is gone afterwards, with those that systemd made in it."""
    group = _GROUPS / f"rcc-test-{os.getpid()}"
    group.mkdir()
    try:
        yield group
    finally:
        wait_for(lambda: _emptied(group), "an empty control group")


def _emptied(group: Path) -> bool:
    for folder, _, _ in os.walk(group, topdown=False):
        try:
            os.rmdir(folder)
        except OSError:
            return False
    return True


def with_program(unit: str, program: str) -> str:
    """The unit with another program in every Exec line, its arguments as they are."""
    return re.sub(r'^(Exec\w+=[@:+!|-]*)("(?:\\.|[^"\\])*"|\S+)', lambda at: at[1] + program, unit, flags=re.M)
