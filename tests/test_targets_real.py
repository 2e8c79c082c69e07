"""Real containers, started by `run.sh` and by `docker compose up -d`: what their process got is the plan."""

import socket
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rcc.plan.model import CarriedFile, FileRef, Mount, Plan
from rcc_targets.compose import target as compose
from rcc_targets.shell import target as shell
from tests.support.cli import clean_env
from tests.support.compose_program import COMPOSE
from tests.support.hardcases import hard_cases
from tests.support.images import read_dump
from tests.support.plans import container, plan_of, rank, with_asserts, with_container, with_secrets
from tests.support.podman import Podman
from tests.support.ports import free_port
from tests.support.result import write_result
from tests.support.skips import needs
from tests.support.wait import wait_for

pytestmark = [needs("podman", "crun", "busybox", "nsenter"), pytest.mark.xdist_group("podman")]

IMAGE = "localhost/rcc-probe:1"
ARGUMENTS = [case.text for case in hard_cases("arg") if not case.argv0 and not case.refused_by("docker_run")]
VALUES = [case.text for case in hard_cases("env") if not case.refused_by("docker_run") and len(case.value) < 9999]
CARRIED = CarriedFile("notes/read me.txt", "sha256:0", False, b"carried\n")


@pytest.fixture(scope="module")
def probe(podman: Podman) -> str:
    return podman.image(IMAGE, {"opt/patched.py": "PATCH = 'it is $in'\n"})


def probing(tmp_path: Path, **fields: Any) -> Plan:
    """A plan whose process prints what it got, and what it sees in its mounts."""
    source = tmp_path / "a source, 'quoted'"
    source.mkdir()
    (source / "file").write_text("from the node\n")
    mounts = (
        Mount(str(source), "/a target, too", True, "bind"),
        Mount(FileRef(CARRIED.file, CARRIED.sha256), "/carried", True, "file"),
        Mount("~/.cache/rcc/hello", "/rcc/cache", False, "cache"),
    )
    made = container(
        image=IMAGE,
        entrypoint=("/dump", "first"),
        command=tuple(ARGUMENTS),
        env={f"V{number}": value for number, value in enumerate(VALUES)},
        mounts=mounts,
        restart="no",
        stop_grace=1,
    )
    plan = plan_of(rank(made=made, ports=()), files=(CARRIED,))
    return with_container(plan, **fields) if fields else plan


class Node:
    """A node with podman in docker's place."""

    def __init__(self, podman: Podman, home: Path) -> None:
        self.podman, self.home = podman, home
        home.mkdir()

    def run(self, result: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        own = clean_env(self.home, {"RCC_DOCKER": str(self.podman.docker), **env})
        script = result / "shell/spark1/run.sh"
        return subprocess.run([script, *words], env=own, capture_output=True, text=True, check=False)

    def compose(self, result: Path, host: str, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        own = clean_env(self.home, {"DOCKER_HOST": host, **env})
        folder = result / "compose/spark1"
        return subprocess.run([COMPOSE, *words], cwd=folder, env=own, capture_output=True, text=True, check=False)

    def ended(self, name: str = "hello-rank0") -> str:
        """What a container printed until it ended."""
        wait_for(lambda: self.podman.inspect(name)["State"]["Status"] == "exited", f"{name} to end")
        return self.podman("logs", name)


@pytest.fixture
def node(podman: Podman, probe: str, tmp_path: Path) -> Node:
    del probe
    return Node(podman, tmp_path / "home")


def start(node: Node, plan: Plan, by: str, folder: Path, **env: str) -> Callable[[], subprocess.CompletedProcess[str]]:
    """Starts a plan by one of the two targets; how to take it down again."""
    result = write_result(shell if by == "shell" else compose, plan, folder)
    if by == "shell":
        up = node.run(result, "up", **env)
        assert up.returncode == 0, up.stderr
        return lambda: node.run(result, "down")
    with node.podman.service() as host:
        up = node.compose(result, host, "up", "-d", **env)
        assert up.returncode == 0, up.stderr

    def down() -> subprocess.CompletedProcess[str]:
        with node.podman.service() as host:
            return node.compose(result, host, "down")

    return down


@pytest.mark.parametrize("by", ["shell", "compose"])
def test_the_process_got_the_plan(by: str, node: Node, tmp_path: Path) -> None:
    plan = probing(tmp_path)
    if by == "compose":  # podman's API, unlike its command line and docker, joins mounts with commas
        mounts = plan.ranks[0].container.mounts[1:]
        plan = with_container(plan, mounts=mounts)
    down = start(node, plan, by, tmp_path / "result")
    argv, env = read_dump(node.ended())

    assert argv == ["/dump", "first", *ARGUMENTS]
    assert {name: env[name] for name in plan.ranks[0].container.env} == dict(plan.ranks[0].container.env)
    assert down().returncode == 0
    assert node.podman.names() == []


@pytest.mark.parametrize("by", ["shell", "compose"])
def test_behind_enter_the_process_got_the_plan_too(by: str, node: Node, tmp_path: Path) -> None:
    plan = with_secrets(probing(tmp_path, mounts=()), "HF_TOKEN")
    plan = with_asserts(plan, {"/opt/patched.py": "it is $in"})
    down = start(node, plan, by, tmp_path / "result", HF_TOKEN="made up")
    argv, env = read_dump(node.ended())

    assert argv == ["/dump", "first", *ARGUMENTS]
    assert {name: env[name] for name in plan.ranks[0].container.env} == dict(plan.ranks[0].container.env)
    assert env["HF_TOKEN"] == "made up"
    assert down().returncode == 0


def test_the_container_sees_its_mounts(node: Node, tmp_path: Path) -> None:
    look = """
        cat "/a target, too/file" /carried
        touch /rcc/cache/mine
        touch "/a target, too/x" 2>/dev/null || echo fixed
    """
    plan = probing(tmp_path, entrypoint=("sh", "-c", look), command=(), env={})
    down = start(node, plan, "shell", tmp_path / "result")

    assert node.ended() == "from the node\ncarried\nfixed\n"
    assert (node.home / ".cache/rcc/hello/mine").exists()
    assert down().returncode == 0


@pytest.mark.parametrize("by", ["shell", "compose"])
def test_a_secret_can_lie_in_a_file(by: str, node: Node, tmp_path: Path) -> None:
    folder = node.home / ".config/rcc/secrets"
    folder.mkdir(parents=True)
    (folder / "HF_TOKEN").write_text("of a file\n")
    (folder / "HF_TOKEN").chmod(0o600)
    down = start(node, with_secrets(probing(tmp_path, mounts=(), env={}), "HF_TOKEN"), by, tmp_path / "result")

    assert read_dump(node.ended())[1]["HF_TOKEN"] == "of a file"
    assert down().returncode == 0


def test_another_image_is_found_out_before_anything_starts(node: Node, tmp_path: Path) -> None:
    plan = with_asserts(probing(tmp_path), {"/opt/patched.py": "it is $not in"})
    up = node.run(write_result(shell, plan, tmp_path / "result"), "up")

    assert up.returncode == 1
    assert "/opt/patched.py does not contain: it is $not in" in up.stderr
    assert node.podman.names() == []


def test_compose_checks_before_it_starts_the_engine(node: Node, tmp_path: Path) -> None:
    plan = with_asserts(probing(tmp_path, mounts=()), {"/opt/patched.py": "it is $not in"})
    result = write_result(compose, plan, tmp_path / "result")
    with node.podman.service() as host:
        up = node.compose(result, host, "up", "-d")
        said = subprocess.run([node.podman.docker, "logs", "hello-rank0-prepare"], capture_output=True, text=True)
        down = node.compose(result, host, "down")

    assert (up.returncode, down.returncode) == (1, 0)
    assert "does not contain: it is $not in" in said.stderr
    assert node.podman.names() == []


def test_compose_up_twice_and_for_another_build(node: Node, tmp_path: Path) -> None:
    plan = probing(tmp_path, mounts=(), entrypoint=("sleep",), command=("1000",))
    result = write_result(compose, plan, tmp_path / "result")
    with node.podman.service() as host:
        for _ in range(2):
            up = node.compose(result, host, "up", "-d")
            assert up.returncode == 0, up.stderr
        first = node.podman.inspect("hello-rank0")["Id"]
        write_result(compose, with_container(plan, env={"A": "b"}), tmp_path / "second")
        up = node.compose(tmp_path / "second", host, "up", "-d")
        assert up.returncode == 0, up.stderr
        assert node.podman.inspect("hello-rank0")["Id"] != first
        assert node.compose(result, host, "down").returncode == 0

    assert node.podman.names() == []


def test_compose_asks_for_ports_whenever_the_engine_does_not_run(node: Node, tmp_path: Path) -> None:
    port = free_port()
    plan = probing(tmp_path, mounts=(), entrypoint=("sleep",), command=("1000",))
    result = write_result(compose, replace(plan, ranks=(replace(plan.ranks[0], ports=(port,)),)), tmp_path / "result")
    with node.podman.service() as host:
        assert node.compose(result, host, "up", "-d").returncode == 0
        with socket.create_server(("127.0.0.1", port)):
            running = node.compose(result, host, "up", "-d")
            assert node.compose(result, host, "stop").returncode == 0
            stopped = node.compose(result, host, "up", "-d")
            said = subprocess.run([node.podman.docker, "logs", "hello-rank0-prepare"], capture_output=True, text=True)
        again = node.compose(result, host, "up", "-d")
        down = node.compose(result, host, "down", "--volumes")

    assert (running.returncode, stopped.returncode, again.returncode, down.returncode) == (0, 1, 0, 0), stopped.stderr
    assert f"something listens on port {port} already" in said.stderr
    assert node.podman.names() == []


def test_a_missing_source_is_never_made(node: Node, tmp_path: Path) -> None:
    plan = probing(tmp_path, mounts=(Mount(str(tmp_path / "none"), "/x", True, "bind"),))
    up = node.run(write_result(shell, plan, tmp_path / "one"), "up")
    assert (up.returncode, f"{tmp_path}/none" in up.stderr + up.stdout) == (1, True)

    assert not (tmp_path / "none").exists()


def test_hostile_values_start_nothing(node: Node, tmp_path: Path) -> None:
    do = f"touch {tmp_path}/pwned"
    values = (f"$({do})", f"`{do}`", f"; {do}", f"' ; {do} '", f'" ; {do} "', f"\n{do}\n", f"|{do}")
    plan = probing(tmp_path, mounts=(), command=values, env={f"V{at}": value for at, value in enumerate(values)})
    down = start(node, plan, "shell", tmp_path / "result")

    assert read_dump(node.ended())[0] == ["/dump", "first", *values]
    assert down().returncode == 0
    assert not (tmp_path / "pwned").exists()
