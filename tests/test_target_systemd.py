"""Units, read back by a reader that shares no code with their writer, are the plan."""

import os
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given

from rcc.diagnostic import has_errors
from rcc.plan.model import Mount, Plan, Rank
from rcc_targets.common.render import Encoded
from rcc_targets.systemd import target, units, words
from tests.support import facts
from tests.support.docker_argv import DockerRun, docker_run
from tests.support.docker_plan import differences
from tests.support.examples import examples
from tests.support.fakedockerd import fake_daemon
from tests.support.hardcases import HardCase, hard_cases
from tests.support.plans import four, plans, single, with_asserts, with_container, with_rank, with_secrets
from tests.support.skips import needs
from tests.support.strict_yaml import UnfaithfulError
from tests.support.systemd_reader import Unit, exec_argv, read_unit

HOME = "/root"
FILES = "/usr/local/lib/rcc/{}/current/files"


def files_of(plan: Plan) -> dict[str, str]:
    """Every text of the target, by path."""
    emitted = target.emit(plan)
    assert not has_errors(emitted.findings), emitted.findings
    return {one.path: one.data.decode() for one in emitted.artifacts if not one.path.endswith(".pyz")}


def unit_of(plan: Plan, rank: Rank, name: str) -> Unit:
    """A unit with root's specifiers filled in, as root's manager does."""
    text = files_of(plan)[f"systemd/{rank.node}/rcc-{plan.id}{name}"]
    for specifier, value in (("%h", HOME), ("%t", "/run")):
        text = re.sub(rf"(?<!%)((?:%%)*){specifier}(?=/|$)", rf"\g<1>{value}", text, flags=re.M)
    return read_unit(text)


def run_of(plan: Plan, rank: Rank) -> DockerRun:
    """The container that the engine's unit starts."""
    program, *words = exec_argv(unit_of(plan, rank, "-engine.service").value("Service", "ExecStart"))
    assert program == "docker"
    return docker_run(words)


def wrong(plan: Plan) -> list[str]:
    """Where the units are not the plan."""
    found = []
    for rank in plan.ranks:
        container = replace(rank.container, secrets=())
        found += differences(run_of(plan, rank), container, FILES.format(plan.id), HOME)
    return found


@pytest.mark.parametrize("plan", [single(), four(), single(user="1000:100", memory=1 << 30, ipc="host")], ids=str)
def test_the_units_are_the_plan(plan: Plan) -> None:
    assert not wrong(plan)


ENV = hard_cases("env")
ARGUMENTS = hard_cases("arg")
PATHS = hard_cases("path")
LABELS = hard_cases("label")


def with_case(case: HardCase) -> Plan:
    """A plan with the value of a case where its kind stands. It has no hash: some values have none."""
    fields: dict[str, Any] = {"env": {case.name: case.text}}
    if case.kind == "label":
        fields = {"labels": {case.name: case.text}}
    elif case.kind == "path":
        source, inside = (case.text, "/b") if case.role == "source" else ("/srv/src", case.text)
        fields = {"mounts": (Mount(source, inside, True, "bind"),)}
    elif case.kind == "arg":
        fields = {"entrypoint": (case.text,)} if case.argv0 else {"command": ("--x", case.text)}
    plan = single()
    rank = replace(plan.ranks[0], container=replace(plan.ranks[0].container, **fields))
    return replace(plan, ranks=(rank,))


@pytest.mark.parametrize("case", [*ENV, *ARGUMENTS, *PATHS, *LABELS], ids=str)
def test_hard_values_arrive_or_are_refused(case: HardCase) -> None:
    plan = with_case(case)
    reason = case.refused_by("systemd_exec")
    if reason:
        emitted = target.emit(plan)
        assert has_errors(emitted.findings), reason
        assert not emitted.artifacts
    else:
        assert not wrong(plan)


@examples(300)
@given(plans())
def test_generated_plans_arrive(plan: Plan) -> None:
    assert not wrong(plan)


NAIVE: dict[str, Callable[[str], str]] = {
    "without doubled dollars": lambda text: words._escaped(text).replace("$$", "$"),
    "without doubled percents": lambda text: words._escaped(text).replace("%%", "%"),
    "without backslashes": lambda text: text.replace("$", "$$").replace("%", "%%").replace('"', '\\"'),
    "raw line ends": lambda text: words._escaped(text).replace("\\n", "\n"),
    "a backslash before dollars": lambda text: words._escaped(text).replace("$$", "\\$"),
}


@pytest.mark.parametrize("name", NAIVE)
def test_a_naive_encoder_is_found_out(name: str) -> None:
    original, naive = words._escaped, NAIVE[name]
    cases = [case for case in (*ENV, *ARGUMENTS) if not case.refused_by("systemd_exec")]

    def mutant(text: str) -> str:
        with patch.object(words, "_escaped", original):
            return naive(text)

    with patch.object(words, "_escaped", mutant):
        assert any(_is_wrong(with_case(case)) for case in cases)


@pytest.mark.parametrize("naive", [shlex.quote, str, lambda text: f'"{text}"'], ids=["shell quotes", "bare", "quotes"])
def test_a_naive_word_is_found_out(naive: Callable[[str], str]) -> None:
    with patch.object(units, "word", lambda text: Encoded(naive(text))):
        assert any(_is_wrong(with_case(case)) for case in ARGUMENTS if not case.refused_by("systemd_exec"))


def _is_wrong(plan: Plan) -> bool:
    try:
        return bool(wrong(plan))
    except (UnfaithfulError, ValueError):
        return True


def test_a_command_longer_than_systemd_reads_is_refused() -> None:
    emitted = target.emit(single(command=tuple("\x01" * 100_000 for _ in range(4))))

    assert [one.code for one in emitted.findings] == ["RCC1041"]
    assert not emitted.artifacts


# --- how the units hang together -----------------------------------------------------------------------------------


def words_of(unit: Unit, key: str) -> set[str]:
    return set(" ".join(unit.values("Unit", key)).split())


def test_the_engine_comes_after_what_it_needs() -> None:
    plan = four()
    engine = unit_of(plan, plan.ranks[2], "-engine.service")

    steps = {"rcc-dsv41-pull.service", "rcc-dsv41-stage.service"}
    assert words_of(engine, "Requires") == steps
    assert words_of(engine, "After") >= steps | {"docker.service", "network-online.target", "remote-fs.target"}
    assert words_of(engine, "Wants") == {"docker.service", "network-online.target", "nvidia-persistenced.service"}
    assert words_of(engine, "PartOf") == {"rcc-dsv41.target"}
    assert words_of(engine, "RequiresMountsFor") == {
        '"/home/spark/rows"',
        '"/mnt/nas/ai/huggingface/hub"',
        '"/root/.cache/rcc/dsv41"',
    }
    assert engine.values("Unit", "AssertPathExists") == ["/dev/infiniband", "/home/spark/rows/.rcc/stamp"]


def test_the_target_pulls_everything_up() -> None:
    plan = four()
    over = unit_of(plan, plan.ranks[0], ".target")

    names = {f"rcc-dsv41-{step}.service" for step in ("pull", "stage", "engine")}
    assert words_of(over, "Wants") == words_of(over, "After") == names
    assert over.value("Install", "WantedBy") == "multi-user.target"


def test_a_rank_of_a_group_never_restarts_alone() -> None:
    plan = four()
    for rank in plan.ranks:
        assert unit_of(plan, rank, "-engine.service").value("Service", "Restart") == "no"
        assert run_of(plan, rank).one("--restart") == "no"


def test_a_single_node_restarts_within_limits() -> None:
    plan = single()
    unit = unit_of(plan, plan.ranks[0], "-engine.service")

    assert unit.value("Service", "Restart") == "on-failure"
    assert unit.value("Unit", "StartLimitBurst") == "6"
    assert run_of(plan, plan.ranks[0]).one("--restart") == "no"


def test_before_the_engine_all_is_checked_and_after_it_evidence_is_kept() -> None:
    plan = with_asserts(four(), {"/etc/patched": "yes"})
    unit = unit_of(plan, plan.ranks[0], "-engine.service")
    steps = FILES.format("dsv41") + "/steps.sh"

    before = [exec_argv(value) for value in unit.values("Service", "ExecStartPre")]
    assert before == [
        ["/bin/sh", steps, "clear"],
        ["/usr/bin/mkdir", "-p", "/root/.cache/rcc/dsv41"],
        ["/bin/sh", steps, "preflight"],
    ]
    assert int(unit.value("Service", "TimeoutStopSec")) > plan.ranks[0].container.stop_grace
    assert [exec_argv(value) for value in unit.values("Service", "ExecStopPost")] == [["/bin/sh", steps, "clear"]]


def test_a_cache_is_made_for_the_user_who_writes_it() -> None:
    plan = single(user="1000:100")
    unit = unit_of(plan, plan.ranks[0], "-engine.service")

    made = exec_argv(unit.values("Service", "ExecStartPre")[1])
    assert made == ["/usr/bin/install", "-d", "-o", "1000", "-g", "100", "/root/.cache/rcc/hello"]


def test_secrets_are_files_and_named_where_missing() -> None:
    plan = with_secrets(single(), "HF_TOKEN")
    unit = unit_of(plan, plan.ranks[0], "-engine.service")
    place = "/root/.config/rcc/secrets/HF_TOKEN"

    assert unit.values("Service", "LoadCredential") == [f"HF_TOKEN:{place}"]
    assert place in unit.values("Unit", "AssertPathExists")
    run = run_of(plan, plan.ranks[0])
    assert "HF_TOKEN" not in (run.env or {})
    assert {"type": "bind", "source": "/run/rcc-hello/secrets", "target": "/rcc/secrets", "readonly": ""} in run.mounts


def test_a_path_that_mounts_cannot_be_named_by_gives_way_to_its_folder() -> None:
    plan = single(mounts=(Mount("/srv/a\nb/c", "/c", True, "bind"), Mount("/srv/x y%", "/d", True, "bind")))
    unit = unit_of(plan, plan.ranks[0], "-engine.service")

    assert unit.values("Unit", "RequiresMountsFor") == ['"/srv"', '"/srv/x y%%"']


def test_a_group_has_no_two_nodes_alike() -> None:
    plan = four()
    ranks = [unit_of(plan, rank, "-engine.service").value("Service", "ExecStart") for rank in plan.ranks]

    assert len(set(ranks)) == 4


# --- parties that are not us ---------------------------------------------------------------------------------------


@needs("docker")
def test_what_the_real_docker_asks_for() -> None:
    plan = with_secrets(four(), "HF_TOKEN")
    rank = plan.ranks[0]
    _, _, *arguments = exec_argv(unit_of(plan, rank, "-engine.service").value("Service", "ExecStart"))
    with fake_daemon() as daemon:
        env = {"PATH": os.environ["PATH"], "DOCKER_HOST": daemon.host, "HOME": "/nowhere"}
        subprocess.run(["docker", "create", *arguments], env=env, capture_output=True, check=True)
        ((name, body),) = daemon.created
    host = body["HostConfig"]

    assert name == "dsv41-rank0"
    assert [*body["Entrypoint"], *body["Cmd"]] == facts.process(rank)
    assert dict(entry.split("=", 1) for entry in body["Env"]) == rank.container.env
    secrets = ("/run/rcc-dsv41/secrets", "/rcc/secrets", True)
    found = [(mount["Source"], mount["Target"], mount.get("ReadOnly", False)) for mount in host["Mounts"]]
    assert sorted(found) == sorted(facts.mounts(rank, FILES.format("dsv41"), HOME, secrets))
    assert (host["ShmSize"], host["OomScoreAdj"]) == (32 << 30, 500)
    assert [name.removeprefix("CAP_") for name in host["CapAdd"]] == ["IPC_LOCK"]
    assert {(limit["Name"], limit["Soft"]) for limit in host["Ulimits"]} == {("memlock", -1), ("stack", 67108864)}
    assert [device["PathOnHost"] for device in host["Devices"]] == ["/dev/infiniband"]
    assert host["DeviceRequests"][0]["Count"] == -1
    assert host["RestartPolicy"]["Name"] == "no"
    assert body["Healthcheck"]["StartPeriod"] == 2700 * 10**9


@needs("systemd-analyze", "docker")
@pytest.mark.parametrize(
    "plan",
    [
        single(),
        with_secrets(with_asserts(four(), {"/etc/a": "b"}), "HF_TOKEN"),
        single(env={case.name: case.text for case in ENV if not case.refused_by("systemd_exec")}, user="7"),
        with_rank(single(mounts=(Mount("/a b/%h\n/$X", "/b", True, "bind"),)), cache_dir="/var/cache x/y"),
    ],
    ids=["single", "four", "hard", "paths"],
)
def test_systemd_analyze_is_silent(plan: Plan, tmp_path: Path) -> None:
    files = files_of(plan)
    for rank in plan.ranks:
        folder = tmp_path / rank.node
        folder.mkdir()
        names = [path for path in files if re.fullmatch(rf"systemd/{rank.node}/[^/]+\.(service|target)", path)]
        assert names
        for path in names:
            (folder / Path(path).name).write_text(files[path])
        words = ["systemd-analyze", "--recursive-errors=no", "--man=no", "verify", *sorted(map(str, folder.iterdir()))]
        done = subprocess.run(words, env={"SYSTEMD_UNIT_PATH": f"{folder}:"}, capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@needs("shellcheck")
@pytest.mark.parametrize("plan", [single(), with_secrets(with_asserts(four(), {"/a": "b"}), "T")], ids=["one", "all"])
def test_shellcheck_is_silent(plan: Plan, tmp_path: Path) -> None:
    files = {path: text for path, text in files_of(plan).items() if text.startswith("#!/bin/sh")}
    assert {Path(path).name for path in files} >= {"install.sh", "steps.sh"}
    for number, text in enumerate(files.values()):
        (tmp_path / f"{number}.sh").write_text(text)
    done = subprocess.run(
        ["shellcheck", "-s", "sh", "-S", "style", *map(str, tmp_path.iterdir())], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout.decode()


def test_container_fields_that_docker_knows_are_all_said() -> None:
    plan = with_container(
        single(), shm_size=1 << 30, cap_add=("IPC_LOCK",), devices=("/dev/fuse",), ulimits={"a": (1, 2)}
    )

    assert not wrong(plan)
