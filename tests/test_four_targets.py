"""All of rcc's own targets say one plan: what their readers find for every rank of every recipe is compared with it."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from rcc.cli.files import Disk
from rcc.emit.registry import BUILT_IN
from rcc.pipeline import Inputs, Options, load, make_plan
from rcc.plan.model import Plan, Rank
from tests.support import facts, k8s_plan
from tests.support.cli import call_rcc, clean_env
from tests.support.compose_reader import process, read_compose
from tests.support.docker_argv import docker_run
from tests.support.paths import RECIPES, SHARED
from tests.support.systemd_reader import exec_argv, read_unit

CLUSTER = RECIPES / "dsv41-flash-wrapper" / "cluster.toml"
ALL = [
    *((path, path.with_name("cluster.toml")) for path in sorted(RECIPES.glob("*/recipe.toml"))),
    *((path, CLUSTER) for path in sorted((SHARED / "seed").glob("*.toml"))),
]
assert len(ALL) > 3

Said = tuple[list[str], dict[str, str]]
"""The argv and the environment of an engine's process, with what stands before it."""


def from_shell(result: Path, rank: Rank) -> Said:
    script = result / "shell" / rank.node / "run.sh"
    printed = subprocess.run(
        [script, "print"], env=clean_env(result), capture_output=True, text=True, check=True
    ).stdout
    run = docker_run(shlex.split(printed.replace("\\\n", " "))[1:])
    return run.argv, {name: str(value) for name, value in run.env.items()}


def from_compose(result: Path, rank: Rank) -> Said:
    services = read_compose((result / "compose" / rank.node / "compose.yaml").read_text())["services"]
    return process(services["engine"])


def from_systemd(result: Path, rank: Rank) -> Said:
    (unit,) = (result / "systemd" / rank.node).glob("*-engine.service")
    text = re.sub(r"(?<!%)%h(?=/)", "/root", unit.read_text())
    run = docker_run(exec_argv(read_unit(text).value("Service", "ExecStart"))[1:])
    return run.argv, {name: str(value) for name, value in run.env.items()}


READERS = {"shell": from_shell, "compose": from_compose, "systemd": from_systemd}
# The whole of Kubernetes' manifests is compared at once.
assert {*READERS, "k8s"} == {*BUILT_IN}


@pytest.fixture(params=ALL, ids=lambda one: one[0].parent.name)
def built(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Plan, Path]:
    """A recipe's plan, and all that it is built to."""
    recipe, cluster = os.fspath(request.param[0]), os.fspath(request.param[1])
    lock = recipe.removesuffix(".toml") + ".lock"
    known = [path if os.path.exists(path) else None for path in (cluster, lock)]
    loaded, found = load(Inputs(recipe, *known), Options(), Disk())
    assert loaded, found
    plan, found = make_plan(loaded, Options())
    assert plan, found
    done = call_rcc("build", recipe, *(("-c", cluster) if known[0] else ()), "--copy", "-o", "result", cwd=tmp_path)
    assert done.code == 0, done.text
    return plan, tmp_path / "result"


def test_every_target_says_the_plan(built: tuple[Plan, Path], tmp_path: Path) -> None:
    plan, result = built
    for rank in plan.ranks:
        wanted = (facts.process(rank), dict(rank.container.env))
        assert {name: read(result, rank) for name, read in READERS.items()} == dict.fromkeys(READERS, wanted)

    manifests = {f"k8s/{path.name}": path.read_text() for path in sorted((result / "k8s").glob("*.yaml"))}
    assert k8s_plan.differences(plan, manifests, tmp_path) == []
