"""A recipe without a command runs the image's own: every target leaves it to the image, and none invents one."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import call_rcc, clean_env
from tests.support.compose_program import COMPOSE
from tests.support.compose_reader import process, read_compose
from tests.support.docker_argv import DockerRun, docker_run
from tests.support.k8s_pods import Manifests
from tests.support.shells import run_sh
from tests.support.skips import needs
from tests.support.stub_docker import stub_docker
from tests.support.systemd_reader import exec_argv, read_unit

IMAGE = "localhost/serve:1"
RECIPE = f'id = "own"\nengine = "custom"\ndocker_image = "{IMAGE}"\n'
NODES = "".join(f'[[nodes]]\nname = "spark{n}"\nhost = "10.0.0.1{n}"\n' for n in (1, 2, 3))
WORDS = ["--port", "8080", "", "-x"]


@pytest.fixture(scope="module", params=[WORDS, []], ids=["arguments", "nothing"])
def words(request: pytest.FixtureRequest) -> list[str]:
    return list(request.param)


@pytest.fixture(scope="module")
def result(words: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recipe with these arguments, built for every target."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "own.toml").write_text(f"{RECIPE}args = {json.dumps(words)}\n")
    done = call_rcc("build", "own.toml", "--copy", "-o", "result", cwd=folder)
    assert done.code == 0, done.text
    return folder / "result"


def assert_own(run: DockerRun, words: list[str]) -> None:
    """The container is of the image, whose entrypoint gets the words; without words docker adds the image's own."""
    assert (run.image, list(run.arguments), run.one("--entrypoint")) == (IMAGE, words, None)


@needs("dash")
def test_the_shell_runs_it(result: Path, words: list[str], tmp_path: Path) -> None:
    docker = stub_docker(tmp_path / "bin")
    env = {"HOME": str(tmp_path), "RCC_DOCKER": str(docker.program)}
    script = result / "shell/localhost/run.sh"

    assert run_sh("dash", script, "up", env=env).returncode == 0
    (started,) = docker.calls("run", "--detach")
    assert_own(docker_run(started), words)
    printed = run_sh("dash", script, "print", env=env).stdout.decode()
    assert shlex.split(printed.replace("\\\n", " "))[1:] == started


def test_systemd_runs_it(result: Path, words: list[str]) -> None:
    text = (result / "systemd/localhost/rcc-own-engine.service").read_text()
    text = re.sub(r"(?<!%)%h(?=/)", "/root", text)
    assert_own(docker_run(exec_argv(read_unit(text).value("Service", "ExecStart"))[1:]), words)


def test_compose_runs_it(result: Path, words: list[str]) -> None:
    folder = result / "compose/localhost"
    assert process(read_compose((folder / "compose.yaml").read_text())["services"]["engine"])[0] == words

    env = {**clean_env(folder), "DOCKER_HOST": "unix:///nowhere"}
    config = [os.fspath(COMPOSE), "config", "--format", "json"]
    done = subprocess.run(config, cwd=folder, env=env, capture_output=True, text=True, check=True)
    engine: dict[str, Any] = json.loads(done.stdout)["services"]["engine"]
    # An empty list would be a command too: the image's own goes with `null` alone.
    assert (engine["entrypoint"], engine["command"]) == (None, words or None)


def test_kubernetes_runs_it(result: Path, words: list[str]) -> None:
    texts = {path.name: path.read_text() for path in (result / "k8s").glob("*.yaml") if "kustom" not in path.name}
    seen = Manifests(texts).container(0, {})

    assert seen.container.get("args", []) == words
    assert seen.container.keys().isdisjoint({"command"} if words else {"command", "args"})


def test_the_plan_says_so(words: list[str], result: Path) -> None:
    done = call_rcc("plan", "own.toml", cwd=result.parent)
    assert f"  argv   {' '.join(['<the image' + chr(39) + 's own>', *map(shlex.quote, words)])}\n" in done.out


@pytest.mark.parametrize(
    "lines",
    [
        'secrets = ["TOKEN"]\n',
        '[[assert]]\npath = "/x"\ncontains = "y"\n',
    ],
)
def test_what_must_happen_before_it_needs_to_know_it(lines: str, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(RECIPE + lines)
    done = call_rcc("build", "own.toml", "--json", cwd=tmp_path)

    assert done.code == 1
    (found,) = done.json()["builds"][0]["findings"]
    assert (found["code"], found["line"], found["column"]) == ("RCC204", 3, 16)
    assert found["help"] == "write the image's command as `entrypoint`"


def test_kubernetes_alone_cannot_tell_workers_apart_without_knowing_it(tmp_path: Path) -> None:
    """Ranks share a template there, and a script says what they have of their own."""
    (tmp_path / "cluster.toml").write_text(NODES)
    (tmp_path / "own.toml").write_text(f'{RECIPE}required_nodes = 3\nargs = ["--me", "{{{{ node.host }}}}"]\n')
    others = call_rcc("build", "own.toml", "-t", "shell,systemd,compose", cwd=tmp_path)
    done = call_rcc("build", "own.toml", "-t", "k8s", "--json", cwd=tmp_path)

    assert others.code == 0, others.text
    assert done.code == 1
    assert {(one["code"], one["help"]) for one in done.json()["builds"][0]["findings"]} == {
        ("RCC1004", "write the image's command as `entrypoint`")
    }
