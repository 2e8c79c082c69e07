"""Rows staged by the artifacts themselves: what `run.sh` and the compose service put on disk, `enter` lets start."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from rcc.plan.model import Mount, Plan, Rank, Staging
from rcc_targets.common.enter import enter_script
from rcc_targets.compose import target as compose
from rcc_targets.shell import target as shell
from tests.support import checkpoint
from tests.support.compose_reader import process, read_compose
from tests.support.plans import container, plan_of, rank
from tests.support.result import write_result
from tests.support.shells import run_sh
from tests.support.skips import needs
from tests.support.stub_docker import stub_docker

pytestmark = needs("dash")

Rows = Mapping[str, tuple[int, int]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> checkpoint.Checkpoint:
    return checkpoint.make(tmp_path_factory.mktemp("checkpoint"))


def staging(made: checkpoint.Checkpoint, dst: Path, layout: str | None, rows: tuple[Rows | None, ...]) -> Plan:
    """Two ranks that stage their rows, each below `dst`."""

    def block(number: int) -> Staging:
        return Staging(
            id="engram",
            kind="sparse-rows",
            format="sparse-copy",
            src=str(made.snapshot),
            dst=str(dst / str(number)),
            tensors="layers.*.engram.embed.*",
            tiling="base-rem",
            manifest="engram-local.json",
            serve=False,
            include=(),
            exclude=(),
            min_free=None,
            rate_limit=None,
            source=checkpoint.SOURCE,
            layout=layout,
            rows=rows[number],
        )

    return plan_of(
        *(
            rank(
                number,
                f"spark{number + 1}",
                container(
                    f"hello-rank{number}",
                    enter=("sh", "/rcc/enter"),
                    mounts=(Mount(str(dst / str(number)), str(dst / str(number)), True, "staged"),),
                    restart="no",
                ),
                ports=(),
                ssh=f"spark@10.0.0.{11 + number}",
                hf_cache=str(made.cache),
                staging=(block(number),),
            )
            for number in range(2)
        )
    )


def unlocked(made: checkpoint.Checkpoint, dst: Path) -> Plan:
    return staging(made, dst, None, (None, None))


def locked(made: checkpoint.Checkpoint, dst: Path) -> Plan:
    """The plan with the layout that staging found, as a lock would have it."""
    lines = [(dst / str(number) / ".rcc/stamp").read_text().split() for number in range(2)]
    (layout,) = {line[0] for line in lines}
    return staging(made, dst, layout, tuple(ranges(line[3]) for line in lines))


def ranges(text: str) -> Rows:
    parts = (part.split(":") for part in text.split(","))
    return {layer: (int(low), int(high)) for layer, low, high in parts}


def entered(plan: Plan, number: int) -> int:
    script = enter_script(plan.ranks[number], plan)
    assert script is not None
    return run_sh("dash", "-c", script, "enter", "true").returncode


def run(folder: Path, tmp_path: Path, number: int, *words: str) -> subprocess.CompletedProcess[bytes]:
    docker = stub_docker(tmp_path / "docker")
    env = {"HOME": str(tmp_path), "RCC_DOCKER": str(docker.program)}
    return run_sh("dash", folder / f"shell/spark{number + 1}/run.sh", *words, env=env)


def test_run_sh_stages_what_enter_wants(made: checkpoint.Checkpoint, tmp_path: Path) -> None:
    dst = tmp_path / "rows"
    dst.mkdir()
    plan = unlocked(made, dst)
    result = write_result(shell, plan, tmp_path / "result")
    assert entered(plan, 0) == 78
    for number in range(2):
        done = run(result, tmp_path, number, "stage")
        assert done.returncode == 0, done.stderr
        assert entered(plan, number) == 0

    known = locked(made, dst)
    assert (entered(known, 0), entered(known, 1)) == (0, 0)
    # Another rank's copy has the right layout and the wrong rows.
    swapped = replace(known, ranks=tuple(_with_mount(known, number, dst / str(1 - number)) for number in range(2)))
    assert (entered(swapped, 0), entered(swapped, 1)) == (78, 78)

    low, high = (known.ranks[1].staging[0].rows or {})["1"]
    tensor = "layers.1.engram.embed.weight"
    with (dst / "1" / made.shards[tensor]).open("rb") as file:
        file.seek(made.offsets[tensor] + low * checkpoint.WEIGHT)
        assert file.read((high - low) * checkpoint.WEIGHT) == made.rows(tensor, low, high)


def _with_mount(plan: Plan, number: int, source: Path) -> Rank:
    one = plan.ranks[number]
    mount = Mount(one.staging[0].dst, str(source), True, "staged")
    return replace(one, container=replace(one.container, mounts=(mount,)))


def test_run_sh_up_stages_and_verifies_on_the_way(made: checkpoint.Checkpoint, tmp_path: Path) -> None:
    dst = tmp_path / "rows"
    dst.mkdir()
    result = write_result(shell, unlocked(made, dst), tmp_path / "result")
    first = run(result, tmp_path, 0, "up")
    assert first.returncode == 0, first.stderr
    assert (dst / "0/.rcc/stamp").exists()

    assert run(result, tmp_path, 0, "verify", "--full").returncode == 0
    with (dst / "0/engram-local.json").open("a") as file:
        file.write(" ")
    damaged = run(result, tmp_path, 0, "up")
    assert damaged.returncode == 1
    assert b"stage --repair" in damaged.stderr
    assert run(result, tmp_path, 0, "stage", "--repair").returncode == 0
    assert run(result, tmp_path, 0, "up").returncode == 0


def test_the_compose_service_stages_the_same(made: checkpoint.Checkpoint, tmp_path: Path) -> None:
    dst = tmp_path / "rows"
    dst.mkdir()
    plan = unlocked(made, dst)
    folder = write_result(compose, plan, tmp_path / "result") / "compose/spark2"
    service = read_compose((folder / "compose.yaml").read_text())["services"]["stage"]
    inside = {volume["target"]: volume["source"] for volume in service["volumes"]}
    words = [str(folder / inside[word]) if word in inside else word for word in process(service)[0]]
    assert words[0] == "python3"
    # The container has the node's own paths, and of those only what it mounts.
    assert inside[str(made.cache / "hub")] == str(made.cache / "hub")
    assert inside[str(dst / "1")] == str(dst / "1")
    done = subprocess.run([sys.executable, *words[1:]], capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    assert entered(plan, 1) == 0
