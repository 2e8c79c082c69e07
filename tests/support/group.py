"""A group of four ranks that is small and real: busybox containers that meet, on four machines with a store each."""

import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.cli import clean_env, run_rcc
from tests.support.podman import Podman, own_podman
from tests.support.ports import free_port
from tests.support.sshd import Machines, ssh_machines

SIZE = 4
IMAGE = "localhost/rcc-engine:1"

# Rank 0 counts who is connected and serves /health while all are; the others stay connected, and end with the head.
ENGINE = """#!/bin/sh
set -eu
rank=$1 size=$2 head=$3 meet=$4 port=$5
if [ "$rank" -gt 0 ]; then
    trap 'exit 0' TERM
    mkfifo /tmp/said
    { echo "$rank"; exec sleep 100000; } >/tmp/said &
    # The reader holds the pipe open through every attempt; it has what was said as soon as the head listens.
    (until nc "$head" "$meet"; do sleep 0.1; done) </tmp/said &
    wait "$!"
    exit 0
fi
mkdir -p /tmp/www /tmp/here
echo "$GREETING" >/tmp/www/greeting
nc -ll -p "$meet" -e /bin/sh /meet.sh &
httpd -f -p "$head:$port" -h /tmp/www &
trap 'exit 0' TERM
while :; do
    if [ "$(ls /tmp/here | wc -l)" -eq "$((size - 1))" ]; then
        echo ok >/tmp/health # whole before it is served
        mv /tmp/health /tmp/www/health
    else
        rm -f /tmp/www/health
    fi
    sleep 0.1 &
    wait "$!"
done
"""
MEET = """#!/bin/sh
read -r rank
touch "/tmp/here/$rank"
cat >/dev/null
rm -f "/tmp/here/$rank"
"""


@dataclass(frozen=True, slots=True)
class Group:
    """Four machines, and a recipe for all of them in `folder`."""

    folder: Path
    machines: Machines
    stores: tuple[Podman, ...]
    port: int
    meet: int

    def build(self, out: str, greeting: str, more: str = "") -> Path:
        """Builds the recipe, saying `greeting`; `more` are tables at its end."""
        (self.folder / "recipe.toml").write_text(self._recipe(greeting, more))
        done = run_rcc("build", "recipe.toml", "-t", "shell", "-t", "compose", "-o", out, cwd=self.folder)
        assert done.code == 0, done.text
        return self.folder / out

    def _recipe(self, greeting: str, more: str) -> str:
        return f"""\
id = "four"
engine = "custom"
docker_image = "{IMAGE}"
required_nodes = {SIZE}
port = {self.port}
rendezvous_port = {self.meet}
stop_grace = "10s"
entrypoint = ["/bin/sh", "/engine.sh"]
args = ["{{{{ rank }}}}", "{{{{ nnodes }}}}", "{{{{ head.fabric }}}}", "{self.meet}", "{{{{ port }}}}"]
{more}
[healthcheck]
path = "/health"
interval = "5s"
timeout = "20s"
start_period = "90s"

[env]
GREETING = "{greeting}"
"""

    def cluster(self, result: Path, command: str) -> subprocess.CompletedProcess[str]:
        """`cluster.sh COMMAND` of a result, on this machine."""
        env = clean_env(self.folder, {"RCC_SSH": str(self.machines.ssh)})
        words = [str(result / "shell" / "cluster.sh"), command]
        return subprocess.run(words, env=env, capture_output=True, text=True, check=False)

    def get(self, path: str) -> str | None:
        """What the head answers; None where it does not answer with 200."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.11:{self.port}/{path}", timeout=20) as answer:
                text: str = answer.read().decode()
                return text.strip()
        except (urllib.error.URLError, ConnectionError):
            return None

    def running(self) -> list[str]:
        """The containers that run, in the order of the machines."""
        return [name for store in self.stores for name in store("ps", "--format", "{{.Names}}").split()]

    def containers(self) -> list[str]:
        """All containers, stopped ones too."""
        return [name for store in self.stores for name in store.names()]


@contextmanager
def own_group(folder: Path) -> Iterator[Group]:
    """A group without a build yet."""
    with ExitStack() as stack:
        (folder / "machines").mkdir()
        machines = stack.enter_context(ssh_machines(folder / "machines", SIZE))
        stores = tuple(stack.enter_context(own_podman()) for _ in range(SIZE))
        for machine, store in zip(machines, stores, strict=True):
            store.image(IMAGE, {"/engine.sh": ENGINE, "/meet.sh": MEET})
            (machine.programs / "docker").symlink_to(store.docker)
        (folder / "cluster.toml").write_text(_cluster(machines))
        yield Group(folder, machines, stores, free_port(), free_port())


def _cluster(machines: Machines) -> str:
    nodes = [
        f'[[nodes]]\nname = "node{number}"\nhost = "{machine.address}"\n' for number, machine in enumerate(machines, 1)
    ]
    return 'hardware = "cpu"\n\n' + "\n".join(nodes)
