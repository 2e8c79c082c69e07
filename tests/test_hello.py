"""`recipes/hello` as the tutorial tells it: its image built from its Containerfile, up, asked, down, nothing left."""

import os
import shutil
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.support.cli import clean_env, run_rcc
from tests.support.paths import RECIPES
from tests.support.podman import Podman
from tests.support.ports import free_port
from tests.support.skips import find
from tests.support.wait import wait_for

pytestmark = pytest.mark.xdist_group("containers")


@pytest.fixture
def built(tmp_path: Path, podman: Podman) -> Path:
    """A result of the recipe on a free port, its image in the store of `podman`."""
    folder = tmp_path / "hello"
    shutil.copytree(RECIPES / "hello", folder)
    busybox = find("busybox")
    assert busybox
    shutil.copy(busybox, folder / "busybox")
    podman("build", "--quiet", "--tag", "localhost/rcc-hello:1", str(folder))
    recipe = folder / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("port = 8642", f"port = {free_port()}"))
    done = run_rcc("build", recipe, "-t", "shell", "-o", "result", cwd=tmp_path)
    assert done.code == 0, done.text
    return tmp_path / "result"


def test_hello_comes_up_answers_and_leaves_nothing(built: Path, podman: Podman, tmp_path: Path) -> None:
    def run(command: str) -> subprocess.CompletedProcess[str]:
        script = built / "shell" / "localhost" / "run.sh"
        env = clean_env(tmp_path, {"RCC_DOCKER": str(podman.docker)})
        return subprocess.run([script, command], env=env, capture_output=True, text=True, check=False)

    up = run("up")
    assert up.returncode == 0, up.stderr
    port = _port(built)
    assert wait_for(lambda: _answer(port), "an answer") == b"Hello from localhost\n"
    assert run("status").returncode == 0
    assert podman.names() == ["hello-rank0"]

    down = run("down")

    assert down.returncode == 0, down.stderr
    assert podman.names() == []
    assert run("status").returncode != 0
    assert _answer(port) is None


def test_hello_ends_as_its_server_does(built: Path, podman: Podman) -> None:
    script = Path(os.path.realpath(built)) / "shell/localhost/files/carried/serve.sh"
    words = ["run", "--rm", "--env", "GREETING=x", "--mount", f"type=bind,source={script},target=/serve.sh,readonly"]
    words += ["--entrypoint", "/bin/sh", "localhost/rcc-hello:1", "/serve.sh", "no port"]
    done = subprocess.run([podman.docker, *words], capture_output=True, check=False)

    assert b"bad" in done.stderr, done.stderr
    assert done.returncode != 0


def _answer(port: str) -> bytes | None:
    """What it says, or None where nobody listens: `up` starts the container and does not wait for its process."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20) as answer:
            return bytes(answer.read())
    except urllib.error.URLError as error:
        if isinstance(error.reason, ConnectionRefusedError):
            return None
        raise


def _port(built: Path) -> str:
    text = (Path(os.path.realpath(built)) / "shell" / "localhost" / "run.sh").read_text()
    return text.partition("dev.rcc.ports=")[2].partition("'")[0]
