"""What the shell target's scripts hand to docker is the plan, byte for byte."""

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcc.emit.model import Emitted
from rcc.plan.model import Plan, Rank
from rcc_targets.common.render import Encoded
from rcc_targets.shell import target, words
from tests.support import facts
from tests.support.docker_argv import DockerRun, docker_run
from tests.support.examples import examples
from tests.support.fakedockerd import FakeDaemon, fake_daemon
from tests.support.hardcases import HardCase, hard_cases, of_case
from tests.support.plans import four, plans, single, with_asserts, with_container, with_secrets
from tests.support.recorded import HERE, HOME, recorded
from tests.support.result import emitted, write_result
from tests.support.shells import SHELLS, run_sh
from tests.support.skips import needs

pytestmark = needs("dash", "busybox", "bash")

RICH = with_asserts(with_secrets(four(), "HF_TOKEN"), {"/opt/engine/patch.py": "it's $PATCHED"})
PLANS = {"single": single(), "four": four(), "rich": RICH}


def scripts(plan: Plan) -> dict[int, str]:
    """Each rank's run.sh."""
    return {
        artifact.rank: artifact.data.decode("utf-8", "surrogateescape")
        for path, artifact in emitted(target, plan).items()
        if path.endswith("/run.sh") and artifact.rank is not None
    }


def assert_says(run: DockerRun, plan: Plan, rank: Rank) -> None:
    """The docker command is the plan's container, whole."""
    container = rank.container
    assert run.argv == facts.process(rank)
    assert run.env == {**container.env, **dict.fromkeys(container.secrets)}
    assert run.image == container.image
    assert run.one("--name") == container.name
    assert run.one("--platform") == container.platform
    assert run.one("--restart") == container.restart
    assert run.one("--user") == container.user
    assert run.one("--network") == container.network
    assert run.one("--ipc") == container.ipc
    assert run.one("--gpus") == (None if container.gpus is None else str(container.gpus))
    assert run.one("--shm-size") == (None if container.shm_size is None else str(container.shm_size))
    assert run.one("--stop-timeout") == str(container.stop_grace)
    assert run.all("--device") == list(container.devices)
    assert run.all("--cap-add") == list(container.cap_add)
    assert {name: (soft, hard) for name, soft, hard in _ulimits(run)} == {
        name: (limit, limit) if isinstance(limit, int) else limit for name, limit in container.ulimits.items()
    }
    assert run.labels.items() >= {**container.labels, "dev.rcc.plan": plan.plan}.items()
    assert [(m["source"], m["target"], "readonly" in m) for m in run.mounts] == facts.mounts(
        rank, f"{HERE}/files", HOME
    )
    assert {m["type"] for m in run.mounts} <= {"bind"}
    assert not run.all("--volume")
    health = run.one("--health-cmd")
    assert (health is None) == (container.healthcheck is None)
    assert ("--no-healthcheck", "") in run.options or health


def _ulimits(run: DockerRun) -> Iterator[tuple[str, int, int]]:
    for text in run.all("--ulimit"):
        name, _, values = text.partition("=")
        soft, _, hard = values.partition(":")
        yield name, int(soft), int(hard)


@pytest.mark.parametrize("shell", sorted(SHELLS))
@pytest.mark.parametrize("name", sorted(PLANS))
def test_every_rank_says_its_plan(name: str, shell: str) -> None:
    plan = PLANS[name]
    made = scripts(plan)
    runs = recorded(made.values(), shell)

    assert list(made) == [rank.rank for rank in plan.ranks]
    for rank, arguments in zip(plan.ranks, runs, strict=True):
        assert_says(docker_run(arguments), plan, rank)


@pytest.mark.parametrize("shell", sorted(SHELLS))
def test_print_shows_the_command_and_does_nothing(shell: str, tmp_path: Path) -> None:
    folder = write_result(target, RICH, tmp_path / "result") / "shell/spark1"
    home = tmp_path / "home"
    home.mkdir()
    done = run_sh(shell, folder / "run.sh", "print", env={"HOME": str(home), "RCC_DOCKER": "no-such-docker"})

    assert (done.returncode, done.stderr) == (0, b"")
    program, *printed = shlex.split(done.stdout.decode().replace("\\\n", " "))
    (expected,) = recorded([scripts(RICH)[0]])
    assert program == "no-such-docker"
    assert [word.replace(HERE, str(folder)).replace(HOME + "/.cache", f"{home}/.cache") for word in expected] == printed
    assert not list(home.iterdir())


def test_printed_words_survive_a_shell(tmp_path: Path) -> None:
    values = ("", "a\n", "\n\na\n\n", "it's", "\\n", "%s", "-n", "$(id)", "😀")
    plan = single(command=values)
    folder = write_result(target, plan, tmp_path) / "shell/spark1"
    printed = run_sh("dash", folder / "run.sh", "print", env={"HOME": "/h"}).stdout.decode()
    shown = subprocess.run(
        ["dash", "-c", f"docker() {{ for word; do printf '%s\\0' \"$word\"; done; }}; {printed}"],
        capture_output=True,
        check=True,
    )

    assert shown.stdout.decode().split("\0")[-1 - len(values) : -1] == list(values)


# --- hard cases ----------------------------------------------------------------------------------------------------


def survivors(cases: tuple[HardCase, ...]) -> list[str]:
    """Cases whose value does not arrive as it is, or that are said although they cannot be."""
    said = [(case, target.emit(of_case(case))) for case in cases]
    wrong = [case.id for case, made in said if bool(made.findings) != bool(case.refused_by("docker_run"))]
    fine = [(case, made) for case, made in said if made.artifacts]
    for (case, _), arguments in zip(fine, recorded([_run_sh(made) for _, made in fine]), strict=True):
        plan = of_case(case)
        try:
            assert_says(docker_run(arguments), plan, plan.ranks[0])
        except (AssertionError, ValueError):
            wrong.append(case.id)
    return wrong


def _run_sh(made: Emitted) -> str:
    (script,) = (one.data for one in made.artifacts if one.path.endswith("/run.sh"))
    return script.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("kind", ["env", "arg", "path", "label"])
def test_hard_cases_arrive_or_are_refused(kind: str) -> None:
    assert survivors(hard_cases(kind)) == []


NAIVE: dict[str, Callable[[object], Encoded]] = {
    "bash_double_quotes": lambda value: Encoded(f'"{value}"'),
    "bash_unquoted": lambda value: Encoded(str(value)),
    "printf_q": lambda value: Encoded(
        "$'" + str(value).replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
    ),
}


@pytest.mark.parametrize("name", sorted(NAIVE))
def test_a_naive_encoder_would_be_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "sh", NAIVE[name])
    caught = []
    for case in hard_cases("env", "arg"):
        if not case.refused_by("docker_run") and len(case.value) < 1000:
            try:
                caught += survivors((case,))
            except (subprocess.CalledProcessError, ValueError, IndexError):
                caught.append(case.id)
    expected = {case.id for case in hard_cases("env", "arg") if name in case.naive}

    assert len(caught) > 5
    assert expected <= set(caught)


@examples(300, per_example=6)
@given(st.lists(plans(), min_size=6, max_size=6))
def test_generated_plans_arrive(several: list[Plan]) -> None:
    runs = recorded([scripts(plan)[0] for plan in several])
    for plan, arguments in zip(several, runs, strict=True):
        assert_says(docker_run(arguments), plan, plan.ranks[0])


# --- the real docker -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def daemon() -> Iterator[FakeDaemon]:
    with fake_daemon() as running:
        yield running


def created(daemon: FakeDaemon, arguments: list[str]) -> dict[str, Any]:
    """The body that the real docker CLI asks a daemon to create."""
    daemon.created.clear()
    env = {"PATH": os.environ["PATH"], "DOCKER_HOST": daemon.host, "HF_TOKEN": "from outside", "HOME": "/nowhere"}
    done = subprocess.run(["docker", *arguments], env=env, capture_output=True, check=False)
    assert daemon.created, done.stderr
    ((_, body),) = daemon.created
    return body


def create(plan: Plan) -> list[str]:
    """`docker create` for the plan's first rank."""
    (arguments,) = recorded([scripts(plan)[0]])
    assert arguments[:2] == ["run", "--detach"]
    return ["create", *arguments[2:]]


@needs("docker")
def test_what_the_real_docker_asks_for(daemon: FakeDaemon) -> None:
    rank = RICH.ranks[0]
    body = created(daemon, create(RICH))
    host = body["HostConfig"]

    assert [*body["Entrypoint"], *body["Cmd"]] == facts.process(rank)
    assert dict(entry.split("=", 1) for entry in body["Env"]) == {**rank.container.env, "HF_TOKEN": "from outside"}
    assert body["Image"] == rank.container.image
    assert [(m["Source"], m["Target"], m.get("ReadOnly", False)) for m in host["Mounts"]] == facts.mounts(
        rank, f"{HERE}/files", HOME
    )
    assert not host["Binds"]
    assert host["ShmSize"] == 32 << 30
    assert {(limit["Name"], limit["Soft"], limit["Hard"]) for limit in host["Ulimits"]} == {
        ("memlock", -1, -1),
        ("stack", 67108864, 67108864),
    }
    assert [device["PathOnHost"] for device in host["Devices"]] == ["/dev/infiniband"]
    assert host["DeviceRequests"][0]["Count"] == -1
    assert [name.removeprefix("CAP_") for name in host["CapAdd"]] == ["IPC_LOCK"]
    assert (host["NetworkMode"], host["IpcMode"], host["OomScoreAdj"]) == ("host", "private", 500)
    assert host["LogConfig"] == {"Type": "json-file", "Config": {"max-size": "10m", "max-file": "5"}}
    assert body["Healthcheck"]["Test"][0] == "CMD-SHELL"
    assert body["Healthcheck"]["StartPeriod"] == 2700 * 10**9


@needs("docker")
@pytest.mark.parametrize("kind", ["env", "arg", "path", "label"])
def test_the_real_docker_gets_hard_values(kind: str, daemon: FakeDaemon) -> None:
    cases = [case for case in hard_cases(kind) if not case.refused_by("docker_run")]
    assert cases
    for case in cases:
        plan = of_case(case)
        rank = plan.ranks[0]
        body = created(daemon, create(plan))

        assert [*body["Entrypoint"], *body["Cmd"]] == facts.process(rank), case.id
        assert dict(entry.split("=", 1) for entry in body["Env"]) == dict(rank.container.env), case.id
        assert body["Labels"].items() >= rank.container.labels.items(), case.id
        assert [(m["Source"], m["Target"]) for m in body["HostConfig"]["Mounts"]] == [
            (source, where) for source, where, _ in facts.mounts(rank, f"{HERE}/files", HOME)
        ], case.id


# --- the scripts as texts ------------------------------------------------------------------------------------------


@needs("shellcheck")
def test_shellcheck_has_nothing_to_say(tmp_path: Path) -> None:
    values = ("~/x", "$HOME `id`", "back\\", "it's", "a=b c", "*", "-rf", "é")
    odd = single(command=values, env={f"V{number}": value for number, value in enumerate(values)})
    for number, plan in enumerate((RICH, odd, with_container(odd, memory=1 << 30, user="1:1"))):
        write_result(target, replace(plan, ranks=plan.ranks[:1]), tmp_path / str(number))
    found = [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes().startswith(b"#!/bin/sh")]
    assert len(found) > 7
    done = subprocess.run(
        ["shellcheck", "-s", "sh", "-S", "style", *map(str, found)], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "")


def test_no_artifact_holds_a_secret_or_says_where_it_was_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (name,) = RICH.ranks[0].container.secrets
    monkeypatch.setenv(name, "a value of it")
    monkeypatch.setenv("HOME", str(tmp_path))
    artifacts = emitted(target, RICH)

    assert any(name.encode() in one.data for one in artifacts.values())
    for text in ("a value of it", os.getcwd(), str(tmp_path)):
        assert [path for path, one in artifacts.items() if text.encode() in one.data] == []


def test_the_same_plan_gives_the_same_bytes() -> None:
    turned = replace(RICH, ranks=tuple(replace(one) for one in RICH.ranks))

    assert emitted(target, RICH) == emitted(target, turned)


def test_stage_json_is_what_the_node_part_reads() -> None:
    from rcc_node.plan import read_plan

    made = emitted(target, four())
    for number in range(4):
        told = read_plan(made[f"shell/spark{number + 1}/files/stage.json"].data)
        assert (told.rank, told.world, told.blocks[0].rows) == (number, 4, four().ranks[number].staging[0].rows)
        assert json.loads(made[f"shell/spark{number + 1}/files/stage.json"].data)["plan"] == four().plan
