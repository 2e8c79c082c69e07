"""Units under a real systemd: what it makes of the words, and what becomes of a node."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings

from rcc.diagnostic import has_errors
from rcc.plan.model import Mount, Plan
from rcc_targets.systemd import target
from tests.support import checkpoint
from tests.support.docker_argv import docker_run
from tests.support.docker_plan import differences
from tests.support.examples import count
from tests.support.hardcases import hard_cases
from tests.support.images import DUMP, read_dump
from tests.support.plans import four, plans, single, with_container, with_rank, with_secrets
from tests.support.podman import Podman, own_podman
from tests.support.ports import free_port
from tests.support.systemd import Manager, systemd, with_program
from tests.support.wait import wait_for

LIBRARY = "/usr/local/lib/rcc"


def artifacts(plan: Plan) -> dict[str, bytes]:
    """The files of a plan's first node, by path below its folder."""
    emitted = target.emit(plan)
    assert not has_errors(emitted.findings), emitted.findings
    start = f"systemd/{plan.ranks[0].node}/"
    return {one.path.removeprefix(start): one.data for one in emitted.artifacts if one.path.startswith(start)}


# --- words ---------------------------------------------------------------------------------------------------------


def only_the_start(plan: Plan, program: Path, out: Path) -> str:
    """The engine's ExecStart= as it is, but for its first word, in a unit that needs nothing."""
    unit = artifacts(plan)[f"rcc-{plan.id}-engine.service"].decode()
    start = re.search(r"^ExecStart=.*?(?=^ExecStop=)", unit, re.M | re.S)
    assert start
    service = f"Type=oneshot\nEnvironment=DUMP_TO={out}\n{start[0]}"
    return with_program(f"[Unit]\nDefaultDependencies=no\n[Service]\n{service}", str(program))


def wrong_under_systemd(some: list[Plan], work: Path) -> list[str]:
    """Which of the plans systemd does not start as they are."""
    units, program = work / "units", work / "dump"
    units.mkdir()
    program.write_text(DUMP.replace("done", 'done >>"$DUMP_TO"'))
    program.chmod(0o755)
    for number, plan in enumerate(some):
        (units / f"case{number}.service").write_text(only_the_start(plan, program, work / f"case{number}"))
    with systemd(units, work) as manager:
        manager.start(*(path.name for path in units.iterdir()))
    found = []
    for number, plan in enumerate(some):
        words = read_dump((work / f"case{number}").read_text())[0][1:]
        container = plan.ranks[0].container
        found += differences(docker_run(words), container, f"{LIBRARY}/{plan.id}/current/files", str(work))
    return found


def test_a_real_systemd_reads_the_hard_values_as_they_are(tmp_path: Path) -> None:
    cases = [case for case in hard_cases("env", "arg") if not case.refused_by("systemd_exec") and not case.argv0]
    assert len(cases) > 50
    plans_of_cases = [
        single(env={case.name: case.text}) if case.kind == "env" else single(command=("-x", case.text))
        for case in cases
    ]

    assert not wrong_under_systemd([*plans_of_cases, four()], tmp_path)


def generated(number: int) -> list[Plan]:
    """Plans from the strategy, all at once, so that one systemd reads them."""
    some: list[Plan] = []

    @settings(max_examples=number, deadline=None, phases=[Phase.generate], database=None)
    @given(plans())
    def collect(plan: Plan) -> None:
        some.append(plan)

    collect()
    assert len(some) >= number // 2
    return some


def test_a_real_systemd_reads_generated_plans_as_they_are(tmp_path: Path) -> None:
    assert not wrong_under_systemd(generated(count(300)), tmp_path)


# --- a node --------------------------------------------------------------------------------------------------------

ENGINE = """#!/bin/sh
trap 'exit 143' TERM
echo "$1" >/out/started
[ "$1" = fails ] && echo 'it fails' && exit 3
sleep 1000 &
wait
"""
PROBE = DUMP.replace("done", "done >>/out/dump")


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[Podman, str]]:
    """Podman with two engines, and the address of its API for docker's command line."""
    with own_podman() as podman:
        podman.image("localhost/rcc-engine:1", {"serve": ENGINE, "probe": PROBE})
        with podman.service() as address:
            yield podman, address


class Node:
    """A machine of its own: a manager, and folders in place of those of the system."""

    def __init__(self, work: Path, manager: Manager, podman: Podman) -> None:
        self.work, self.manager, self.podman = work, manager, podman
        self.units, self.library = work / "units", work / "lib"

    def folder(self, plan: Plan, name: str) -> Path:
        """A build's folder, as it is copied to a node; only the system's folders are others."""
        folder = self.work / name
        for path, data in artifacts(plan).items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            # Podman runs outside of the manager's namespaces, and sees no other /run.
            places = {
                b"%t/rcc-hello": bytes(self.work / "run"),
                b"$RUNTIME_DIRECTORY": bytes(self.work / "run"),
                LIBRARY.encode(): bytes(self.library),
                b"/etc/systemd/system": bytes(self.units),
                b"[ -f ~root": b"[ -f " + bytes(self.work),
            }
            for old, new in places.items():
                data = data.replace(old, new)
            file.write_bytes(data)
        return folder

    def install(self, folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
        inside = ["nsenter", f"--target={self.manager.pid}", "--mount", "--pid", "--cgroup"]
        env = {**self.manager.env, "PATH": f"{self.work}/bin:{self.manager.env['PATH']}"}
        return subprocess.run(
            [*inside, "sh", str(folder / "install.sh"), *words], env=env, capture_output=True, check=False
        )

    def installed(self, folder: Path, *words: str) -> None:
        done = self.install(folder, *words)
        assert done.returncode == 0, done.stderr.decode() + self.manager.log.read_text()

    def wait_for_start(self, word: str) -> None:
        started = self.work / "out/started"
        wait_for(lambda: started.exists() and started.read_text() == f"{word}\n", f"the engine of {word}")

    def dumped(self) -> tuple[list[str], dict[str, str]]:
        """argv and environment of the probe, once it has written both."""
        dump = self.work / "out/dump"
        wait_for(lambda: dump.exists() and dump.read_text().count("\n") >= 2, "the probe")
        return read_dump(dump.read_text())


@pytest.fixture
def node(tmp_path: Path, engines: tuple[Podman, str]) -> Iterator[Node]:
    podman, address = engines
    for name in ("units", "lib", "bin", "out"):
        (tmp_path / name).mkdir()
    # systemctl asks the manager of the test, and waiting for a network takes no time.
    for name, text in {"systemctl": 'exec /usr/bin/systemctl --user "$@"', "sleep": ""}.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    with systemd(tmp_path / "units", tmp_path) as manager:
        manager.systemctl("set-environment", f"DOCKER_HOST={address}")
        manager.env["DOCKER_HOST"] = address
        yield Node(tmp_path, manager, podman)
        podman("rm", "--all", "--force", "--time=0")


def engine(node: Node, word: str, **fields: Any) -> Plan:
    """A node's plan whose engine runs until it is stopped; `fails` ends it at once."""
    plain = {
        "image": "localhost/rcc-engine:1",
        "entrypoint": ("/serve", word),
        "command": (),
        "mounts": (Mount(str(node.work / "out"), "/out", False, "bind"),),
        "healthcheck": None,
    }
    return with_rank(with_container(single(), **{**plain, **fields}), ports=(free_port(),))


def test_a_unit_runs_a_container_that_is_the_plan(node: Node) -> None:
    cases = [case for case in hard_cases("env", "arg") if not case.refused_by("systemd_exec") and not case.argv0]
    env = {f"V{number}": case.text for number, case in enumerate(cases) if case.kind == "env"}
    # Together with the rest more than a process can be given.
    env = {name: value for name, value in env.items() if len(value) < 100_000}
    words = tuple(case.text for case in cases if case.kind == "arg" and len(case.text) < 100_000)
    assert len(env) > 25
    assert len(words) > 25
    plan = engine(node, "-", entrypoint=("/probe",), command=words, env=env)

    node.installed(node.folder(plan, "a"))
    argv, found = node.dumped()
    assert argv == ["/probe", *words]
    assert {name: found.get(name) for name in env} == env


def test_secrets_reach_the_engine_as_files(node: Node) -> None:
    plan = with_secrets(engine(node, "-", entrypoint=("/probe",), user="65534"), "HF_TOKEN")
    folder = node.folder(plan, "a")

    done = node.install(folder)
    assert done.returncode == 1
    assert b"HF_TOKEN" in done.stderr
    assert not list(node.units.iterdir())

    place = node.work / ".config/rcc/secrets/HF_TOKEN"
    place.parent.mkdir(parents=True)
    place.write_text("not a real one")
    place.chmod(0o600)
    (node.work / "out").chmod(0o777)
    node.installed(folder)
    assert node.dumped()[1]["HF_TOKEN"] == "not a real one"
    wait_for(lambda: not node.podman.names(), "the probe to end")
    place.unlink()
    node.manager.systemctl("start", "rcc-hello-engine.service", check=False)
    assert str(place) in node.manager.systemctl("status", "rcc-hello-engine.service", check=False)


def test_rows_are_staged_before_the_engine_and_reach_it(node: Node) -> None:
    made = checkpoint.make(node.work / "cache")
    rows = node.work / "rows"
    (block,) = four().ranks[0].staging
    block = replace(block, src=str(made.snapshot), dst=str(rows), source=None, layout=None, rows=None)
    mounts = (Mount(str(node.work / "out"), "/out", False, "bind"), Mount(str(rows), "/rows", True, "staged"))
    plan = engine(node, "-", entrypoint=("/probe",), mounts=mounts, enter=("sh", "/rcc/enter"))
    plan = with_rank(plan, staging=(block,), hf_cache=str(made.cache))

    node.installed(node.folder(plan, "a"))

    assert node.dumped()[0] == ["/probe"]
    assert (rows / ".rcc/stamp").read_text().split()[1:3] == ["1", "0"]
    tensor = "layers.1.engram.embed.weight"
    with (rows / made.shards[tensor]).open("rb") as shard:
        shard.seek(made.offsets[tensor])
        assert shard.read(256 * 100) == made.rows(tensor, 0, 100)


def test_an_engine_that_fails_leaves_evidence_and_no_container(node: Node) -> None:
    node.installed(node.folder(engine(node, "fails"), "a"))
    wait_for(lambda: list(node.work.rglob("state.json")) and not node.podman.names(), "the engine to end")

    (kept,) = node.work.rglob("state.json")
    assert json.loads(kept.read_text())["ExitCode"] == 3
    assert (kept.parent / "log").read_text() == "it fails\n"


def test_builds_take_turns_and_leave_nothing(node: Node) -> None:
    first, second = node.folder(engine(node, "first"), "a"), node.folder(engine(node, "second"), "b")
    node.installed(first)
    node.wait_for_start("first")
    container = node.podman.inspect("hello-rank0")["Id"]

    node.installed(first)
    assert node.podman.inspect("hello-rank0")["Id"] == container, "the same build started again"

    node.installed(second)
    node.wait_for_start("second")
    assert node.podman.names() == ["hello-rank0"]

    node.installed(second, "--remove")
    assert node.podman.names() == []
    assert sorted(path for path in node.units.rglob("*")) == []
    assert list(node.library.iterdir()) == []


def test_an_installation_that_was_cut_short_is_done_again(node: Node) -> None:
    node.installed(node.folder(engine(node, "first"), "a"))
    node.wait_for_start("first")
    second, systemctl = node.folder(engine(node, "second"), "b"), node.work / "bin/systemctl"
    text = systemctl.read_text()
    systemctl.write_text(text.replace("exec", '[ "$1" = daemon-reload ] && exit 1\nexec'))
    assert node.install(second).returncode == 1

    systemctl.write_text(text)
    node.installed(second)
    node.wait_for_start("second")


def test_a_build_that_cannot_start_leaves_the_old_one_as_it_was(node: Node) -> None:
    node.installed(node.folder(engine(node, "first"), "a"))
    node.wait_for_start("first")
    container = node.podman.inspect("hello-rank0")["Id"]
    current = os.readlink(node.library / "hello/current")
    mounts = (Mount(str(node.work / "nothing"), "/out", True, "bind"),)

    done = node.install(node.folder(engine(node, "second", mounts=mounts), "b"))

    assert done.returncode == 1
    assert b"as it was" in done.stderr
    assert node.podman.inspect("hello-rank0")["Id"] == container
    assert os.readlink(node.library / "hello/current") == current


def test_the_container_of_somebody_else_is_left_alone(node: Node) -> None:
    node.podman("run", "--detach", "--name", "hello-rank0", "localhost/rcc-engine:1", "/bin/sleep", "1000")
    node.installed(node.folder(engine(node, "first"), "a"))
    asked = ("show", "--property=Result", "--value", "rcc-hello-engine.service")
    wait_for(lambda: node.manager.systemctl(*asked).strip() == "exit-code", "the refusal")

    assert node.podman.inspect("hello-rank0")["State"]["Running"]


def test_a_folder_that_becomes_a_machine_gets_the_files_alone(tmp_path: Path) -> None:
    folder, root = tmp_path / "a", tmp_path / "root"
    for path, data in artifacts(four()).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    folder.chmod(0o777)
    (folder / "files").chmod(0o777)
    for _ in range(2):
        subprocess.run(["sh", str(folder / "install.sh")], env={**os.environ, "DESTDIR": str(root)}, check=True)

    current = root / "usr/local/lib/rcc/dsv41/current"
    assert (current / "files/enter").read_bytes() == (folder / "files/enter").read_bytes()
    assert sorted(path.name for path in (root / "etc/systemd/system").iterdir()) == [
        "rcc-dsv41-engine.service",
        "rcc-dsv41-pull.service",
        "rcc-dsv41-stage.service",
        "rcc-dsv41.target",
    ]
    for place in (current.resolve(), *current.resolve().rglob("*")):
        assert not place.stat().st_mode & 0o022, f"others may write {place}"


def test_the_last_three_builds_stay(tmp_path: Path) -> None:
    env = {**os.environ, "DESTDIR": str(tmp_path / "root")}
    for number in range(5):
        folder = tmp_path / str(number)
        for path, data in artifacts(single(command=(str(number),))).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        subprocess.run(["sh", str(folder / "install.sh")], env=env, check=True)
    library = tmp_path / "root/usr/local/lib/rcc/hello"

    builds = sorted(path for path in library.iterdir() if path.name != "current")
    assert len(builds) == 3
    texts = [(build / "rcc-hello-engine.service").read_text() for build in builds]
    assert all(any(f'    "{number}"\n' in text for text in texts) for number in (2, 3, 4))

    oldest = next(build for build, text in zip(builds, texts, strict=True) if '    "2"\n' in text)
    subprocess.run(["sh", str(oldest / "install.sh")], env=env, check=True)
    assert os.readlink(library / "current") == oldest.name
