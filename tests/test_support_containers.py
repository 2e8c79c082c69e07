"""The stand-ins for docker, held to what they promise the tests that use them."""

import subprocess
import sys
from pathlib import Path

from tests.support.cli import PATH
from tests.support.hardcases import hard_cases
from tests.support.images import read_dump
from tests.support.podman import Podman
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
    compose = str(Path(sys.executable).with_name("docker-compose"))

    with podman.service() as host:
        env = {"PATH": PATH, "HOME": str(tmp_path), "DOCKER_HOST": host}
        subprocess.run([compose, "up", "-d"], cwd=tmp_path, env=env, check=True, capture_output=True)
        podman("wait", "dumped")
        argv, _ = read_dump(podman("logs", "dumped"))
        subprocess.run([compose, "down"], cwd=tmp_path, env=env, check=True, capture_output=True)

    assert argv == ["/dump", "a b", "$x"]
    assert "dumped" not in podman.names()
