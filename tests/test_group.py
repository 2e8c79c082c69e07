"""One group, end to end: four ranks that meet, over ssh and by compose, in real containers."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.cli import clean_env
from tests.support.compose_program import COMPOSE
from tests.support.group import SIZE, Group, own_group
from tests.support.wait import wait_for

pytestmark = pytest.mark.xdist_group("group")

ALL = [f"four-rank{rank}" for rank in range(SIZE)]


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    with own_group(tmp_path) as made:
        yield made


def test_a_group_over_ssh(group: Group) -> None:
    first = group.build("first", "one")

    up = group.cluster(first, "up")

    assert up.returncode == 0, up.stderr
    assert (group.get("greeting"), group.get("health")) == ("one", "ok")
    assert group.running() == ALL
    assert group.cluster(first, "status").returncode == 0

    # A rank that is lost stays down, and the head says so: nobody restarts one rank alone.
    group.stores[2]("kill", "four-rank2")
    wait_for(lambda: group.get("health") is None, "the head to miss a rank")
    status = group.cluster(first, "status")
    assert status.returncode == 1
    assert "four-rank2" in status.stdout + status.stderr
    assert "four-rank2" not in group.running()

    # With the head the others end, with status 0, and still nobody starts one of them again.
    group.stores[0]("kill", "four-rank0")
    wait_for(lambda: not group.running(), "the others to end with the head")
    assert group.stores[1].inspect("four-rank1")["State"]["ExitCode"] == 0

    # The group comes back as one.
    before = group.stores[0].inspect("four-rank0")["Id"]
    assert group.cluster(first, "up").returncode == 0
    assert group.get("health") == "ok"
    assert group.running() == ALL
    assert group.stores[0].inspect("four-rank0")["Id"] != before

    (kept,) = (group.machines[2].home / ".rcc" / "four" / "evidence").iterdir()
    assert re.fullmatch("[0-9a-f]{12}", kept.name)
    assert (kept / "log").exists()

    second = group.build("second", "two")
    changed = group.cluster(second, "up")
    assert changed.returncode == 0, changed.stderr
    assert group.get("greeting") == "two"

    # A build that cannot start leaves the one that serves alone.
    third = group.build("third", "three", '[[assert]]\npath = "/engine.sh"\ncontains = "not in there"\n')
    refused = group.cluster(third, "up")
    assert refused.returncode == 1
    assert "/engine.sh" in refused.stderr
    assert (group.get("greeting"), group.get("health")) == ("two", "ok")
    assert group.running() == ALL

    down = group.cluster(second, "down")
    assert down.returncode == 0, down.stderr
    assert group.containers() == []


def test_a_group_by_compose(group: Group) -> None:
    result = group.build("result", "composed")
    with ExitStack() as stack:
        hosts = [stack.enter_context(store.service()) for store in group.stores]
        for rank in reversed(range(SIZE)):
            compose(result, rank, hosts[rank], "up", "-d")
        wait_for(lambda: group.get("health") == "ok", "the group to serve")
        assert group.get("greeting") == "composed"
        for rank in range(SIZE):
            compose(result, rank, hosts[rank], "down")

        assert group.containers() == []


def compose(result: Path, rank: int, host: str, *words: str) -> None:
    """`docker compose WORDS` as somebody types it on the node, in the folder of its project."""
    folder = Path(os.path.realpath(result)) / "compose" / f"node{rank + 1}"
    env = clean_env(result.parent, {"DOCKER_HOST": host})
    done = subprocess.run([COMPOSE, *words], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
