"""The stand-ins for docker, held to what they promise the tests that use them."""

import socket
import subprocess
from pathlib import Path

import pytest

from tests.support.cli import PATH
from tests.support.compose_program import COMPOSE
from tests.support.fakedockerd import fake_daemon
from tests.support.hardcases import hard_cases
from tests.support.images import read_dump
from tests.support.podman import Podman
from tests.support.skips import needs
from tests.support.stub_docker import stub_docker
from tests.support.wait import wait_for

ARGUMENTS = [case.text for case in hard_cases("arg") if case.id.startswith("own-")]


def test_a_container_gets_its_argv_and_environment(podman: Podman) -> None:
    image = podman.image("localhost/dump:1", ENTRYPOINT='["/dump"]', ENV="A=b")

    argv, env = read_dump(podman("run", "--rm", image, *ARGUMENTS))

    assert argv == ["/dump", *ARGUMENTS]
    assert env["A"] == "b"


def test_a_container_stays_up_and_is_seen_by_later_calls(podman: Podman) -> None:
    image = podman.image("localhost/plain:1", {"/hello": "#!/bin/sh\necho hello; exec sleep 1000\n"})
    podman("run", "--detach", "--name=plain", "--ulimit=memlock=-1:-1", "--ulimit", "memlock=-1", image, "/hello")

    wait_for(lambda: podman("logs", "plain") == "hello\n", "the container's first line")
    assert podman.inspect("plain")["State"]["Running"]
    podman("rm", "--force", "--time=0", "plain")
    assert "plain" not in podman.names()


def test_the_api_serves_compose(podman: Podman, tmp_path: Path) -> None:
    image = podman.image("localhost/dump:1", ENTRYPOINT='["/dump"]')
    service = f'{{image: "{image}", network_mode: "host", container_name: "dumped", command: ["a b", "$$x"]}}'
    (tmp_path / "compose.yaml").write_text(f'name: "dump"\nservices: {{dump: {service}}}\n')

    with podman.service() as host:
        env = {"PATH": PATH, "HOME": str(tmp_path), "DOCKER_HOST": host}
        subprocess.run([COMPOSE, "up", "-d"], cwd=tmp_path, env=env, check=True, capture_output=True)
        podman("wait", "dumped")
        argv, _ = read_dump(podman("logs", "dumped"))
        subprocess.run([COMPOSE, "down"], cwd=tmp_path, env=env, check=True, capture_output=True)

    assert argv == ["/dump", "a b", "$x"]
    assert "dumped" not in podman.names()


def test_the_stub_keeps_every_word_and_answers_as_told(tmp_path: Path) -> None:
    stub = stub_docker(tmp_path / "bin")
    stub.answer("inspect", out="running\n")
    stub.answer("inspect", "gone", err="no such container\n", code=1)

    assert _call(stub.program, "run", *ARGUMENTS) == (0, "", "")
    assert _call(stub.program, "inspect", "it") == (0, "running\n", "")
    assert _call(stub.program, "inspect", "gone") == (1, "", "no such container\n")
    assert stub.calls("run") == [["run", *ARGUMENTS]]
    assert [call[1] for call in stub.calls("inspect")] == ["it", "gone"]


def _call(program: Path, *words: str) -> tuple[int, str, str]:
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@needs("docker")
def test_the_real_docker_tells_the_daemon_what_it_read(tmp_path: Path) -> None:
    with fake_daemon() as daemon:
        env = {"PATH": PATH, "HOME": str(tmp_path), "DOCKER_HOST": daemon.host}
        words = ["docker", "run", "-d", "--name=it", "-e", "A=b c", "image", *ARGUMENTS]
        subprocess.run(words, env=env, check=True, capture_output=True)

    ((name, body),) = daemon.created
    assert (name, body["Env"], body["Cmd"]) == ("it", ["A=b c"], ARGUMENTS)


def test_compose_tells_the_daemon_what_it_read(tmp_path: Path) -> None:
    service = '{image: "image", network_mode: "host", container_name: "it", command: ["a b", "$$x"]}'
    (tmp_path / "compose.yaml").write_text(f'name: "group"\nservices: {{it: {service}}}\n')

    with fake_daemon() as daemon:
        env = {"PATH": PATH, "HOME": str(tmp_path), "DOCKER_HOST": daemon.host}
        subprocess.run([COMPOSE, "create"], cwd=tmp_path, env=env, check=True, capture_output=True)

    ((name, body),) = daemon.created
    assert (name, body["Cmd"]) == ("it", ["a b", "$x"])


def test_a_question_that_the_daemon_does_not_know_is_a_failure() -> None:
    with pytest.raises(AssertionError, match="GET /swarm"), fake_daemon() as daemon:
        assert _ask(daemon.host, "/v1.47/swarm").startswith(b"HTTP/1.1 404")


def _ask(host: str, path: str) -> bytes:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(host.removeprefix("unix://"))
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: docker\r\n\r\n".encode())
        return client.recv(100)
