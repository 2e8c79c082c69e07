"""`cluster.sh` over ssh: machines on loopback addresses, whose containers are plain processes."""

import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rcc.plan.model import Container, GroupHealth, Healthcheck, Mount, Plan, Rank
from rcc_targets.shell import target
from rcc_targets.shell.cluster import cluster_values
from tests.support.acting_docker import ActingDocker, acting_docker
from tests.support.plans import container, plan_of, rank, with_container
from tests.support.result import write_result
from tests.support.shells import SHELLS, shell_words
from tests.support.skips import needs
from tests.support.sshd import Machines, ssh_machines
from tests.support.wait import wait_for

pytestmark = needs("sshd", "ssh", "dash", "busybox", "bash", "python3", "tar", "curl")

COUNT = 2
ENGINE = """
import http.server, os, sys
sys.stderr.write("rank " + os.environ["NODE_RANK"] + " begins\\n")
if os.environ["NODE_RANK"] != "0":
    while True: __import__("signal").pause()
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words): pass
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(os.environ["BUILD"].encode())
http.server.HTTPServer(("127.0.0.11", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture(scope="module")
def ssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with ssh_machines(tmp_path_factory.mktemp("ssh"), COUNT) as machines:
        yield machines


@dataclass(frozen=True, slots=True)
class Cluster:
    """A control machine's folder and the machines that it reaches."""

    folder: Path
    ssh: Machines
    dockers: tuple[ActingDocker, ...]
    port: int

    def build(self, name: str, plan: Plan) -> Path:
        """The result of building a plan."""
        return write_result(target, plan, self.folder / name)

    def __call__(
        self, build: Path, *words: str, shell: str = "dash", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*shell_words(shell), str(build / "shell/cluster.sh"), *words],
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "RCC_SSH": str(self.ssh.ssh), **(env or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    @property
    def home(self) -> Path:
        return self.folder / "control"

    @property
    def running(self) -> list[list[str]]:
        return [docker.names() for docker in self.dockers]

    def installed(self, at: int) -> Path:
        return self.ssh[at].home / ".rcc/hello"

    def served(self) -> str:
        """Which build answers on the head."""
        with urllib.request.urlopen(f"http://127.0.0.11:{self.port}/health", timeout=5) as answer:
            return str(answer.read().decode())


@pytest.fixture
def cluster(ssh: Machines, tmp_path: Path) -> Iterator[Cluster]:
    dockers = []
    for machine in ssh:
        shutil.rmtree(machine.home / ".rcc", ignore_errors=True)
        dockers.append(acting_docker(machine.programs, tmp_path / machine.address))
    with socket.socket() as probe:
        probe.bind(("127.0.0.11", 0))
        port = probe.getsockname()[1]
    made = Cluster(tmp_path, ssh, tuple(dockers), port)
    made.home.mkdir()
    yield made
    for docker in dockers:
        docker.clear()


def group(cluster: Cluster, build: str = "one", count: int = COUNT, **fields: object) -> Plan:
    """A plan of `count` ranks; `fields` are those of every container."""
    check = Healthcheck(cluster.port, "/health", interval=1, timeout=5, retries=1, start_period=30)

    def of(number: int) -> Container:
        plain: dict[str, object] = {
            "entrypoint": ("python3", "-c", ENGINE),
            "command": (str(cluster.port),),
            "env": {"NODE_RANK": str(number), "BUILD": build},
            "mounts": (),
            "restart": "no",
            "stop_grace": 1,
            "healthcheck": check if number == 0 else None,
            "labels": {"dev.rcc.id": "hello", "dev.rcc.rank": str(number)},
        }
        return container(f"hello-rank{number}", **{**plain, **fields})

    ranks = []
    for number in range(count):
        address = f"127.0.0.{11 + number}"
        ports = (cluster.port,) if number == 0 else ()
        ranks.append(
            rank(number, f"spark{number + 1}", of(number), host=address, fabric=address, ssh=address, ports=ports)
        )
    return plan_of(*ranks)


ALL = [[f"hello-rank{number}"] for number in range(COUNT)]
NONE: list[list[str]] = [[] for _ in range(COUNT)]


@pytest.mark.parametrize("shell", sorted(SHELLS))
def test_up_status_logs_down(shell: str, cluster: Cluster) -> None:
    build = cluster.build("one", group(cluster))
    up = cluster(build, "up", shell=shell)
    assert up.returncode == 0, up.stderr
    assert f"serves at http://127.0.0.11:{cluster.port}" in up.stderr
    assert cluster.running == ALL
    assert cluster.served() == "one"

    status = cluster(build, "status", shell=shell)
    assert (status.returncode, status.stdout.splitlines()) == (
        0,
        [f"hello-rank{n} on spark{n + 1}: running" for n in range(COUNT)] + ["the group serves"],
    )
    logs = cluster(build, "logs", "--tail", "5", shell=shell)
    assert sorted(logs.stdout.splitlines())[:1] == ["spark1: rank 0 begins"]
    assert "spark2: rank 1 begins" in logs.stdout

    down = cluster(build, "down", shell=shell)
    assert down.returncode == 0, down.stderr
    assert cluster.running == NONE
    assert cluster(build, "status", shell=shell).returncode == 1


def test_the_status_of_a_build_is_not_that_of_another(cluster: Cluster) -> None:
    assert cluster(cluster.build("one", group(cluster)), "up").returncode == 0
    status = cluster(cluster.build("two", group(cluster, "two")), "status")

    assert cluster.served() == "one"
    assert status.returncode == 1
    assert status.stdout.splitlines() == [f"this build is not on spark{n + 1}" for n in range(COUNT)]


def test_workers_start_before_the_head(cluster: Cluster) -> None:
    build = cluster.build("one", group(cluster))
    assert cluster(build, "up").returncode == 0
    containers = [next(docker.folder.glob("*/container.json")).stat().st_mtime_ns for docker in cluster.dockers]

    assert containers == sorted(containers, reverse=True)


def test_up_again_starts_nothing(cluster: Cluster) -> None:
    build = cluster.build("one", group(cluster))
    assert cluster(build, "up").returncode == 0
    before = [path.name for docker in cluster.dockers for path in docker.folder.iterdir()]
    again = cluster(build, "up")

    assert (again.returncode, "all ranks run already" in again.stderr) == (0, True)
    assert [path.name for docker in cluster.dockers for path in docker.folder.iterdir()] == before


def test_a_group_with_a_lost_rank_starts_again_as_one(cluster: Cluster) -> None:
    build = cluster.build("one", group(cluster))
    assert cluster(build, "up").returncode == 0
    before = [docker.pid(f"hello-rank{at}") for at, docker in enumerate(cluster.dockers)]
    cluster.dockers[1].kill("hello-rank1")
    up = cluster(build, "up")

    assert up.returncode == 0, up.stderr
    after = [docker.pid(f"hello-rank{at}") for at, docker in enumerate(cluster.dockers)]
    assert not set(before) & set(after)


def test_another_build_takes_the_place_of_the_first(cluster: Cluster) -> None:
    builds = [cluster.build(name, group(cluster, name, count=1)) for name in ("one", "two", "three", "four")]
    for name, build in zip(("one", "two", "three", "four"), builds, strict=True):
        up = cluster(build, "up")
        assert up.returncode == 0, up.stderr
        assert cluster.served() == name
        assert cluster.running == [["hello-rank0"], []]

    folder = cluster.installed(0)
    kept = {path.name for path in folder.iterdir() if len(path.name) == 64}
    assert len(kept) == 3
    assert (folder / "current").resolve().name in kept
    assert (folder / "current/run.sh").read_bytes() == (builds[-1] / "shell/spark1/run.sh").read_bytes()


def test_a_build_that_is_not_ready_leaves_the_former_one(cluster: Cluster) -> None:
    assert cluster(cluster.build("one", group(cluster)), "up").returncode == 0
    broken = group(cluster, "two", mounts=(Mount("/no/such/folder", "/x", True, "bind"),))
    up = cluster(cluster.build("two", broken), "up")

    assert up.returncode == 1
    assert "what runs was left alone" in up.stderr
    assert "/no/such/folder" in up.stderr
    assert cluster.running == ALL
    assert cluster.served() == "one"


def test_a_node_that_cannot_be_reached_stops_everything_first(cluster: Cluster) -> None:
    plan = group(cluster)
    gone = replace(plan.ranks[1], ssh="127.0.0.99")
    up = cluster(cluster.build("one", replace(plan, ranks=(plan.ranks[0], gone))), "up")

    assert up.returncode == 1
    assert "nothing was touched" in up.stderr
    assert [line for line in up.stderr.splitlines() if line.startswith("spark2: ssh: connect to host 127.0.0.99")]
    assert cluster.running == NONE
    assert not any(cluster.installed(at).exists() for at in range(COUNT))


def test_a_node_without_docker_is_named(cluster: Cluster) -> None:
    (cluster.ssh[1].programs / "docker").write_text("#!/bin/sh\nexit 1\n")
    up = cluster(cluster.build("one", group(cluster)), "up")

    assert (up.returncode, "spark2: docker does not answer" in up.stderr) == (1, True)
    assert not cluster.installed(0).exists()


def test_a_rank_that_dies_at_start_is_named_and_nothing_is_left(cluster: Cluster) -> None:
    plan = group(cluster)
    dying = replace(
        plan.ranks[1].container, entrypoint=("sh", "-c", "echo no such flag: --fast >&2; exit 3"), command=()
    )
    plan = replace(plan, ranks=(_without_a_head(plan), replace(plan.ranks[1], container=dying)))
    up = cluster(cluster.build("one", plan), "up")

    assert up.returncode == 1
    assert "hello-rank1 on spark2: exited with 3" in up.stderr
    assert "rank 1: no such flag: --fast" in up.stderr
    assert cluster.running == NONE
    (kept,) = (cluster.installed(1) / "evidence").iterdir()
    assert (kept / "log").read_text() == "no such flag: --fast\n"
    assert '"ExitCode": 3' in (kept / "state.json").read_text()


def _without_a_head(plan: Plan) -> Rank:
    """A head that runs and never answers."""
    return replace(plan.ranks[0], container=replace(plan.ranks[0].container, entrypoint=("sleep", "1000"), command=()))


def test_a_group_that_never_serves_is_given_up(cluster: Cluster) -> None:
    plan = group(cluster)
    check = Healthcheck(cluster.port, "/health", interval=1, timeout=1, retries=1, start_period=1)
    assert plan.group.health
    health = replace(plan.group.health, check=check)
    plan = replace(plan, ranks=(_without_a_head(plan), *plan.ranks[1:]), group=replace(plan.group, health=health))
    up = cluster(cluster.build("one", plan), "up")

    assert (up.returncode, "did not serve within 2 s" in up.stderr) == (1, True)
    assert cluster.running == NONE


def test_down_reaches_nodes_that_the_new_plan_does_not_use(cluster: Cluster) -> None:
    assert cluster(cluster.build("one", group(cluster)), "up").returncode == 0
    smaller = cluster.build("two", group(cluster, "two", count=1))
    up = cluster(smaller, "up")
    assert up.returncode == 0, up.stderr
    assert cluster.running == [["hello-rank0"], []]

    assert cluster(cluster.build("one", group(cluster)), "up").returncode == 0
    shutil.rmtree(cluster.home / ".rcc")  # another control machine: the nodes know
    down = cluster(smaller, "down")
    assert down.returncode == 0, down.stderr
    assert cluster.running == NONE


def test_down_says_what_it_could_not_stop(cluster: Cluster) -> None:
    plan = group(cluster)
    build = cluster.build("one", plan)
    assert cluster(build, "up").returncode == 0
    gone = replace(plan, ranks=(plan.ranks[0], replace(plan.ranks[1], ssh="127.0.0.99")))
    down = cluster(cluster.build("two", gone), "down")

    assert down.returncode == 1
    assert "not everything could be stopped" in down.stderr
    assert cluster.running == NONE  # the former entry of the second node was reached


def test_a_node_without_ssh_is_this_machine(cluster: Cluster, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    docker = acting_docker(programs, tmp_path / "local")
    plan = group(cluster, count=1)
    build = cluster.build("one", replace(plan, ranks=(replace(plan.ranks[0], ssh=None),)))
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "RCC_SSH": "/bin/false"}
    try:
        up = cluster(build, "up", env=env)
        assert up.returncode == 0, up.stderr
        assert docker.names() == ["hello-rank0"]
        assert (cluster.home / ".rcc/hello/current/run.sh").is_file()
        assert cluster(build, "down", env=env).returncode == 0
        assert docker.names() == []
    finally:
        docker.clear()


def test_the_docker_of_the_nodes_can_be_named(cluster: Cluster) -> None:
    for machine in cluster.ssh:
        (machine.programs / "docker").rename(machine.programs / "my docker")
    build = cluster.build("one", group(cluster))
    up = cluster(build, "up", env={"RCC_DOCKER": "my docker"})

    assert up.returncode == 0, up.stderr
    assert cluster.running == ALL


def test_stage_verify_preflight_and_print(cluster: Cluster) -> None:
    build = cluster.build("one", group(cluster))
    for command in ("stage", "verify", "preflight"):
        done = cluster(build, command)
        assert done.returncode == 0, done.stderr
    printed = cluster(build, "print", env={"RCC_SSH": "/bin/false"})
    assert printed.stdout.count("'docker'") == COUNT
    assert cluster.running == NONE

    assert cluster(build, "help").returncode == 0
    assert cluster(build, "restart").returncode == 2


def test_a_result_without_its_manifest_is_refused(cluster: Cluster) -> None:
    build = cluster.build("one", group(cluster))
    (build / "manifest.json").unlink()
    up = cluster(build, "up")

    assert (up.returncode, "there is no manifest.json" in up.stderr) == (1, True)


LOGINS = {
    "spark@10.0.0.11": ("spark@10.0.0.11", ""),
    "spark@10.0.0.11:2222": ("spark@10.0.0.11", "2222"),
    "alias": ("alias", ""),
    "spark@fd00::11": ("spark@fd00::11", ""),
    None: ("", ""),
}


@pytest.mark.parametrize("login", list(LOGINS))
def test_logins_are_taken_apart(login: str | None) -> None:
    (node,) = cluster_values(plan_of(rank(ssh=login)))["nodes"]

    assert (node.login, node.port) == LOGINS[login]


@contextmanager
def at_work(cluster: Cluster, build: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """An operator whose command goes on until the test ends it, with whatever that has started."""
    env = {"PATH": os.environ["PATH"], "HOME": str(cluster.home), "RCC_SSH": str(cluster.ssh.ssh)}
    command = [*shell_words("dash"), str(build / "shell/cluster.sh"), *words]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def waiting(process: subprocess.Popen[str]) -> None:
    """Until the operator waits for a group that does not serve."""
    assert process.stderr
    assert any("waiting until the group serves" in line for line in process.stderr)


def never_serving(cluster: Cluster) -> Plan:
    check = Healthcheck(cluster.port, "/health", interval=1, timeout=5, retries=1, start_period=600)
    silent = ("python3", "-c", "import signal; signal.pause()")
    plan = group(cluster, entrypoint=silent, command=())
    plan = with_container(plan, healthcheck=check)
    return replace(plan, group=replace(plan.group, health=GroupHealth(0, "127.0.0.11", check)))


def test_two_operators_take_turns(cluster: Cluster, tmp_path: Path) -> None:
    """The second is told who is at it, from wherever it comes."""
    build = cluster.build("one", never_serving(cluster))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = {"HOME": str(elsewhere)}
    with at_work(cluster, build, "up") as first:
        waiting(first)
        for word in ("up", "down"):
            refused = cluster(build, word, env=other)
            assert refused.returncode == 1
            who = r"another is at it: \S+@\S+, up since \S+ \S+ UTC"
            assert re.fullmatch(f"rcc: hello: {who}; nothing was touched\n", refused.stderr)
        assert cluster.running == ALL
        assert cluster(build, "status", env=other).returncode == 0

        os.killpg(first.pid, signal.SIGINT)
        first.wait(timeout=20)
        wait_for(lambda: cluster(build, "down", env=other).returncode == 0, "the turn of the second")
    assert cluster.running == NONE


def test_a_turn_does_not_outlive_a_script_that_is_killed(cluster: Cluster) -> None:
    """Also where what it has started lives on."""
    build = cluster.build("one", never_serving(cluster))
    with at_work(cluster, build, "up") as first:
        waiting(first)
        first.kill()
        first.wait(timeout=20)
        wait_for(lambda: cluster(build, "down").returncode == 0, "the turn of the second")


def test_the_turn_of_a_machine_that_is_not_heard_of_ends(cluster: Cluster) -> None:
    """Nothing of it arrives any more, and nothing says so: it may have lost its power."""
    build = cluster.build("one", never_serving(cluster))
    script = build / "shell/cluster.sh"
    text = script.read_text().replace("timeout 60", "timeout 1").replace("sleep 15", "sleep 600")
    assert text.count("timeout 1") == text.count("sleep 600") == 1
    script.chmod(0o755)
    script.write_text(text)
    with at_work(cluster, build, "up") as first:
        waiting(first)
        wait_for(lambda: cluster(build, "down").returncode == 0, "the turn of the second")
        assert first.poll() is None


def breaking_ssh(cluster: Cluster, script: str) -> dict[str, str]:
    """The environment of an operator whose ssh runs a line of sh first."""
    path = cluster.folder / "breaking-ssh"
    path.write_text(f'#!/bin/sh\n{script}\nexec {cluster.ssh.ssh} "$@"\n')
    path.chmod(0o755)
    return {"RCC_SSH": str(path)}


def test_a_node_that_is_not_reached_for_a_moment_costs_no_group(cluster: Cluster, tmp_path: Path) -> None:
    """The second rank's node does not answer once everything is up: by then it has been asked how it does."""
    build = cluster.build("one", group(cluster))
    assert cluster(build, "up").returncode == 0

    lost = f'case "$*" in *127.0.0.12*) [ ! -e {tmp_path}/asked ] || exit 255; touch {tmp_path}/asked ;; esac'
    again = cluster(build, "up", env=breaking_ssh(cluster, lost))

    assert (again.returncode, cluster.running) == (0, ALL), again.stderr
    assert (tmp_path / "asked").exists()


def test_up_stops_nothing_that_it_has_not_started(cluster: Cluster, tmp_path: Path) -> None:
    """The group runs, and has ceased to serve: somebody has to look at it, as it is."""
    gate = tmp_path / "gate"
    gate.touch()
    engine = ENGINE.replace("200", '200 if os.path.exists(os.environ["GATE"]) else 503')
    env = {"BUILD": "one", "GATE": str(gate)}
    plan = group(cluster, entrypoint=("python3", "-c", engine))
    plan = replace(plan, ranks=tuple(_with_env(one, {**env, "NODE_RANK": str(one.rank)}) for one in plan.ranks))
    check = Healthcheck(cluster.port, "/health", interval=1, timeout=1, retries=1, start_period=5)
    build = cluster.build("one", replace(plan, group=replace(plan.group, health=GroupHealth(0, "127.0.0.11", check))))
    first = cluster(build, "up")
    assert first.returncode == 0, first.stderr

    gate.unlink()
    again = cluster(build, "up")

    assert again.returncode == 1
    assert "did not serve within 6 s" in again.stderr
    assert "what ran before was left alone" in again.stderr
    assert cluster.running == ALL


def _with_env(rank: Rank, env: Mapping[str, str]) -> Rank:
    return replace(rank, container=replace(rank.container, env=env))


def test_where_only_the_head_reaches_its_address_the_head_is_asked(cluster: Cluster) -> None:
    """`url` names an address where nothing answers this machine."""
    check = Healthcheck(
        cluster.port, "/health", interval=1, timeout=1, retries=1, start_period=30, address="127.0.0.11"
    )
    plan = with_container(group(cluster), healthcheck=check)
    plan = replace(plan, group=replace(plan.group, health=GroupHealth(0, "127.0.0.99", check)))
    up = cluster(cluster.build("one", plan), "up")

    assert up.returncode == 0, up.stderr
    assert f"serves, but http://127.0.0.99:{cluster.port}/health does not answer this machine" in up.stderr


def test_a_head_that_begins_to_serve_between_two_questions_answers_here(cluster: Cluster, tmp_path: Path) -> None:
    """The operator's `curl` fails until the head itself has said that it serves."""
    programs, said = tmp_path / "programs", tmp_path / "said"
    programs.mkdir()
    curl = programs / "curl"
    curl.write_text(f'#!/bin/sh\n[ -e {said} ] || exit 22\nexec {shutil.which("curl")} "$@"\n')
    curl.chmod(0o755)
    script = f"{tmp_path}/script.$$"
    asked = f"""case "$*" in *'exec sh -s'*)
        cat >{script}
        {cluster.ssh.ssh} "$@" <{script} || exit
        grep -q "^set -- 'health'" {script} && touch {said}
        exit 0 ;; esac"""
    check = Healthcheck(
        cluster.port, "/health", interval=1, timeout=5, retries=1, start_period=30, address="127.0.0.11"
    )
    plan = with_container(group(cluster), healthcheck=check)
    plan = replace(plan, group=replace(plan.group, health=GroupHealth(0, "127.0.0.11", check)))
    path = {"PATH": f"{programs}:{os.environ['PATH']}"}

    up = cluster(cluster.build("one", plan), "up", env={**breaking_ssh(cluster, asked), **path})

    assert up.returncode == 0, up.stderr
    assert said.exists()
    assert f"serves at http://127.0.0.11:{cluster.port}/\n" in up.stderr


def test_a_word_too_many_costs_nothing(cluster: Cluster) -> None:
    build = cluster.build("one", group(cluster))
    assert cluster(build, "up").returncode == 0
    for script in (build / "shell/cluster.sh", build / "shell/spark1/run.sh"):
        for command in ("up", "down", "status", "print"):
            asked = subprocess.run(["sh", str(script), command, "--help"], capture_output=True, text=True, check=False)

            assert (asked.returncode, asked.stdout) == (2, "")
            assert " up " in asked.stderr
    assert cluster.running == ALL


def test_an_interrupt_ends_what_follows_the_logs(cluster: Cluster) -> None:
    """Background jobs of a script do not hear of it; a shell that a person types in sends it to all of them."""
    build = cluster.build("one", group(cluster))
    assert cluster(build, "up").returncode == 0
    with at_work(cluster, build, "logs", "-f") as following:
        wait_for(lambda: len(_group_of(following)) > 2 * COUNT, "the logs of every rank")
        os.killpg(following.pid, signal.SIGINT)

        assert following.wait(timeout=20) == 130
        wait_for(lambda: not _group_of(following), "the end of all that it had started")
    assert cluster.running == ALL


def _group_of(process: subprocess.Popen[str]) -> list[str]:
    """The processes of its process group that have not ended."""
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,stat=,args="], capture_output=True, text=True, check=True)
    lines = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    return [line[2] for line in lines if line[0] == str(process.pid) and not line[1].startswith("Z")]
