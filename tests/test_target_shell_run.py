"""What `run.sh` does on its node, with a docker that only writes down how it was called."""

import os
import socket
import stat
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from rcc.plan.model import Mount, Plan
from rcc_targets.shell import target
from tests.support.docker_argv import docker_run
from tests.support.plans import single, with_asserts, with_container, with_rank, with_secrets
from tests.support.result import write_result
from tests.support.shells import SHELLS, run_sh
from tests.support.skips import needs, needs_root
from tests.support.stub_docker import StubDocker, stub_docker

pytestmark = needs("dash", "busybox", "bash")
in_every_shell = pytest.mark.parametrize("shell", sorted(SHELLS))

STATUS_FORMAT = '{{.State.Status}} {{index .Config.Labels "dev.rcc.plan"}} {{with .State.Health}}{{.Status}}{{end}}'
STATUS = ("container", "inspect", "--format", STATUS_FORMAT)
STATE = ("container", "inspect", "--format", "{{.State.Status}}")
UP = ("container", "inspect", "--format", '{{.State.Status}} {{index .Config.Labels "dev.rcc.plan"}}')
OWNER_FORMAT = '{{index .Config.Labels "dev.rcc.id"}} {{index .Config.Labels "dev.rcc.target"}}'
OWNER = ("container", "inspect", "--format", OWNER_FORMAT)
PORTS = ("container", "inspect", "--format", '{{index .Config.Labels "dev.rcc.ports"}}')


OURS = ("--filter", "label=dev.rcc.id=hello", "--filter", "label=dev.rcc.target=shell")


@dataclass(frozen=True, slots=True)
class Node:
    """A node with a plan's files on it."""

    shell: str
    script: Path
    home: Path
    docker: StubDocker
    plan: Plan

    def __call__(self, *words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
        own = {"HOME": str(self.home), "RCC_DOCKER": str(self.docker.program)}
        return run_sh(self.shell, self.script, *words, env={**own, **(env or {})})

    def said(self, *words: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
        done = self(*words, env=env)
        return done.returncode, (done.stdout + done.stderr).decode()

    @property
    def started(self) -> list[list[str]]:
        """Containers that were started to stay."""
        return self.docker.calls("run", "--detach")

    @property
    def verbs(self) -> list[str]:
        """What changed something, in order."""
        calls = [" ".join(call[:2]) for call in self.docker.calls()]
        return [call for call in calls if call.split()[0] in ("run", "stop", "rm", "pull")]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


Make = Callable[[Plan], Node]


@pytest.fixture
def shell() -> str:
    return "dash"


@pytest.fixture
def node(shell: str, tmp_path: Path) -> Make:
    docker = stub_docker(tmp_path / "docker")
    home = tmp_path / "home"
    home.mkdir()

    def make(plan: Plan) -> Node:
        plan = with_rank(plan, ports=(free_port(),))
        folder = write_result(target, plan, tmp_path / "result") / "shell/spark1"
        return Node(shell, folder / "run.sh", home, docker, plan)

    return make


def runs(node: Node, plan: str | None = None) -> None:
    """From now on the container runs, under this build or another."""
    node.docker.answer(*UP, out=f"running {plan or node.plan.plan}\n")
    node.docker.answer(*STATE, out="running\n")
    node.docker.answer(*OWNER, out="hello shell\n")
    node.docker.answer("ps", out="abcdef012345\n")


@in_every_shell
def test_up_starts_the_plan(node: Make) -> None:
    here = node(single())
    code, text = here.said("up")

    assert code == 0, text
    (words,) = here.started
    assert docker_run(words).one("--name") == "hello-rank0"
    assert docker_run(words).argv == ["/bin/serve", "--port", "8080"]
    assert (here.home / ".cache/rcc/hello").is_dir()


@needs_root
def test_the_cache_is_the_containers_users_where_root_starts_it(node: Make) -> None:
    here = node(with_container(single(), user="1234:99"))
    assert here.said("up")[0] == 0

    found = (here.home / ".cache/rcc/hello").stat()
    assert (found.st_uid, found.st_gid) == (1234, 99)


def test_up_pulls_only_what_is_missing(node: Make) -> None:
    here = node(with_container(single(), platform="linux/arm64"))
    assert here.said("up")[0] == 0
    assert not here.docker.calls("pull")

    here.docker.answer("image", "inspect", code=1)
    code, text = here.said("up")
    assert here.docker.calls("pull") == [["pull", "--platform", "linux/arm64", "localhost/rcc-hello:1"]]
    assert (code, "localhost/rcc-hello:1 is not on spark1" in text) == (1, True)


def test_up_twice_does_nothing(node: Make) -> None:
    here = node(single())
    runs(here)

    code, text = here.said("up")
    assert (code, "is up on spark1 already" in text, here.verbs) == (0, True, [])


def test_another_build_is_checked_first_then_replaced(node: Make) -> None:
    here = node(single())
    runs(here, "sha256:other")
    with socket.socket() as held:
        held.bind(("", 0))
        held.listen()
        port = held.getsockname()[1]
        here.docker.answer(*PORTS, out=f"{port}\n")
        here = Node(here.shell, write_held(here, port), here.home, here.docker, here.plan)
        code, text = here.said("prepare")

        assert code == 0, text
        # The port of the one that runs counts as free; once that one has ended, it does not.
        assert here.verbs == []
        here.docker.answer("ps", "--all", "--quiet", *OURS, "--filter", "status=running", out="")
        code, text = here.said("up")
        assert (code, f"port {port} is taken" in text, here.started) == (1, True, [])


def write_held(here: Node, port: int) -> Path:
    """The same plan, for a port that is taken."""
    folder = here.script.parents[2] / "held"
    return write_result(target, with_rank(here.plan, ports=(port,)), folder) / "shell/spark1/run.sh"


@in_every_shell
def test_replacing_stops_the_old_before_the_new_starts(node: Make) -> None:
    here = node(single())
    runs(here, "sha256:other")
    code, text = here.said("up")

    assert code == 0, text
    assert here.verbs == ["stop abcdef012345", "rm --force", "run --detach"]
    assert here.docker.calls("rm") == [["rm", "--force", "--volumes", "abcdef012345"]]


def test_a_failing_check_leaves_the_old_one_alone(node: Make) -> None:
    here = node(with_container(single(), mounts=(Mount("/no/such/folder", "/x", True, "bind"),)))
    runs(here, "sha256:other")
    code, text = here.said("up")

    assert (code, here.verbs) == (1, [])
    assert "/no/such/folder" in text


@in_every_shell
def test_what_ended_by_itself_is_kept_before_it_goes(node: Make) -> None:
    here = node(single())
    here.docker.answer("ps", out="abcdef012345\n")
    here.docker.answer(*STATE, out="exited\n")
    here.docker.answer("container", "inspect", "--format", "{{.Id}}", out="abcdef012345\n")
    here.docker.answer("container", "inspect", "--format", "{{json .State}}", out='{"ExitCode":137}\n')
    here.docker.answer("logs", out="last words\n")
    code, text = here.said("up")

    assert code == 0, text
    kept = here.home / ".rcc/hello/evidence/abcdef012345"
    assert (kept / "state.json").read_text() == '{"ExitCode":137}\n'
    assert (kept / "log").read_text() == "last words\n"
    assert here.verbs[-1] == "run --detach"


def test_only_the_last_five_failures_are_kept(node: Make) -> None:
    here = node(single())
    for number in range(7):
        name = f"{number:012x}"
        here.docker.answer("ps", out=f"{name}\n")
        here.docker.answer(*STATE, out="exited\n")
        here.docker.answer("container", "inspect", "--format", "{{.Id}}", out=f"{name}\n")
        assert here.said("down")[0] == 0
        for old in (here.home / ".rcc/hello/evidence").iterdir():
            os.utime(old, (int(old.name, 16), int(old.name, 16)))

    assert sorted(path.name for path in (here.home / ".rcc/hello/evidence").iterdir()) == [
        f"{number:012x}" for number in range(2, 7)
    ]


def test_somebody_elses_container_is_left_alone(node: Make) -> None:
    here = node(single())
    here.docker.answer(*OWNER, out="hello compose\n")
    code, text = here.said("up")

    assert (code, here.verbs) == (1, [])
    assert "another container has this name" in text


def test_a_start_that_docker_refuses_leaves_nothing(node: Make) -> None:
    here = node(single())
    here.docker.answer("run", "--detach", err="no such device\n", code=125)
    code, text = here.said("up")

    assert (code, "no such device" in text) == (1, True)


def test_docker_that_does_not_answer_is_said(node: Make) -> None:
    here = node(single())
    here.docker.answer("version", code=1)
    for command in ("up", "down", "status", "preflight"):
        code, text = here.said(command)
        assert (code, "does not answer on spark1" in text) == (1, True), command
    assert here.verbs == []


def test_status_tells_what_runs(node: Make) -> None:
    here = node(single())
    assert here.said("status") == (1, "hello-rank0 on spark1: not there\n")

    here.docker.answer(*STATUS, out="exited sha256:x \n")
    end = "{{.State.Status}} with {{.State.ExitCode}}{{if .State.OOMKilled}}, out of memory{{end}}"
    here.docker.answer("container", "inspect", "--format", end, out="exited with 137, out of memory\n")
    assert here.said("status") == (1, "hello-rank0 on spark1: exited with 137, out of memory\n")

    here.docker.answer(*STATUS, out=f"running {here.plan.plan} healthy\n")
    assert here.said("status") == (0, "hello-rank0 on spark1: running, healthy\n")

    here.docker.answer(*STATUS, out=f"running {here.plan.plan} \n")
    assert here.said("status") == (0, "hello-rank0 on spark1: running\n")

    here.docker.answer(*STATUS, out="running sha256:other healthy\n")
    assert here.said("status") == (1, "hello-rank0 on spark1: running, healthy, but of another build\n")


def test_logs_and_usage(node: Make) -> None:
    here = node(single())
    assert here.said("logs", "-f", "--since", "5m")[0] == 0
    assert here.said("logs")[0] == 0
    assert here.docker.calls("logs") == [
        ["logs", "-f", "--since", "5m", "hello-rank0"],
        ["logs", "--tail", "100", "hello-rank0"],
    ]
    assert here.said("help")[0] == 0
    code, text = here.said("restart")
    assert (code, "run.sh up " in text) == (2, True)


def test_missing_secrets_are_named_and_nothing_starts(node: Make) -> None:
    here = node(with_secrets(single(), "HF_TOKEN", "OTHER"))
    code, text = here.said("up", env={"OTHER": "given"})

    assert (code, here.verbs) == (1, [])
    assert text.rstrip().endswith(f"neither in the environment nor in {here.home}/.config/rcc/secrets: HF_TOKEN")


@in_every_shell
def test_secrets_reach_docker_by_name_only(node: Make) -> None:
    here = node(with_secrets(single(), "HF_TOKEN", "OTHER"))
    folder = here.home / "my secrets"
    folder.mkdir()
    (folder / "OTHER").write_text("s3cret of a file\n")
    (folder / "OTHER").chmod(0o600)
    seen = 'open(__file__ + ".env", "a").write(os.environ.get("OTHER", "") + os.environ.get("HF_TOKEN", ""))'
    here.docker.program.write_text(here.docker.program.read_text().replace("words = ", f"{seen}\nwords = "))
    code, text = here.said("up", env={"HF_TOKEN": "s3cret of the caller", "RCC_SECRETS": str(folder)})

    assert code == 0, text
    (words,) = here.started
    assert docker_run(words).env == {"GREETING": "hello", "HF_TOKEN": None, "OTHER": None}
    assert "s3cret" not in str(here.docker.calls()) + text
    assert "s3cret of a files3cret of the caller" in Path(f"{here.docker.program}.env").read_text()


def test_a_secret_that_others_can_read_is_refused(node: Make) -> None:
    here = node(with_secrets(single(), "HF_TOKEN"))
    folder = here.home / ".config/rcc/secrets"
    folder.mkdir(parents=True)
    (folder / "HF_TOKEN").write_text("s3cret")
    (folder / "HF_TOKEN").chmod(0o644)
    code, text = here.said("up")

    assert (code, "chmod 600" in text, here.verbs) == (1, True, [])


@in_every_shell
def test_asserts_are_looked_for_in_the_image_before_the_start(node: Make) -> None:
    here = node(with_asserts(single(), {"/opt/engine.py": "patched"}))
    assert here.said("up")[0] == 0
    asserted, started = here.docker.calls("run")
    look = docker_run(asserted)
    assert look.argv == ["sh", "/rcc/asserts"]
    assert look.one("--network") == "none"
    assert docker_run(started).one("--name") == "hello-rank0"

    here.docker.forget()
    here.docker.answer("run", "--rm", code=78)
    code, text = here.said("up")
    assert (code, "is not the image that is meant" in text, here.started) == (1, True, [])


def test_a_taken_port_stops_the_start(node: Make) -> None:
    here = node(single())
    with socket.socket() as held:
        held.bind(("", here.plan.ranks[0].ports[0]))
        held.listen()
        code, text = here.said("up")

    assert (code, here.started) == (1, [])
    assert f"port {here.plan.ranks[0].ports[0]} is taken" in text


@in_every_shell
def test_folders_with_odd_names(node: Make, tmp_path: Path) -> None:
    plan = single(mounts=(Mount("~/.cache/rcc/hello", "/rcc/cache", False, "cache"),))
    here = node(with_asserts(plan, {"/x": "y"}))
    odd = tmp_path / "a, b 'c' $d\nlast"
    odd.mkdir()
    home = odd / "home"
    home.mkdir()
    here.script.parent.rename(odd / "files here")
    moved = Node(here.shell, odd / "files here/run.sh", home, here.docker, here.plan)
    code, text = moved.said("up")

    assert code == 0, text
    (words,) = moved.started
    assert [mount["source"] for mount in docker_run(words).mounts] == [
        f"{home}/.cache/rcc/hello",
        f"{odd}/files here/files/enter",
    ]
    assert stat.S_ISDIR(os.stat(home / ".cache/rcc/hello").st_mode)
