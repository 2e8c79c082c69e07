"""What compose files say is the plan, byte for byte: to a strict reader, and to the real docker compose."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rcc.emit.model import Emitted
from rcc.plan.model import Image, Mount, Plan, Rank
from rcc_node.plan import read_plan
from rcc_targets.common import encode
from rcc_targets.common.render import Encoded
from rcc_targets.compose import target
from rcc_targets.compose import yaml as encoders
from tests.support import facts
from tests.support.compose_program import COMPOSE
from tests.support.compose_reader import passed_through, process, read_compose
from tests.support.examples import examples
from tests.support.fakedockerd import FakeDaemon, fake_daemon
from tests.support.hardcases import HardCase, hard_cases, of_case
from tests.support.plans import container, four, plans, single, with_asserts, with_container, with_rank, with_secrets
from tests.support.result import emitted, write_result
from tests.support.strict_yaml import UnfaithfulError

HOME = "/home/spark"
RICH = with_asserts(with_secrets(four(), "HF_TOKEN"), {"/opt/engine/patch.py": "it's $PATCHED"})
PLANS = {"single": single(), "four": four(), "rich": RICH}


def files(plan: Plan) -> dict[int, str]:
    """Each rank's compose file."""
    return {
        artifact.rank: artifact.data.decode("ascii")
        for path, artifact in emitted(target, plan).items()
        if path.endswith("/compose.yaml") and artifact.rank is not None
    }


def engine_of(text: str) -> dict[str, Any]:
    return dict(read_compose(text)["services"]["engine"])


def without_running(volumes: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
    """The volumes of an engine but those that say it runs, and whether there are such."""
    told = [(one["type"], one["source"].rpartition("/")[2], one["target"]) for one in volumes[-2:]]
    wanted = [("volume", "running", "/rcc/running"), ("bind", "prepare", "/rcc/running/engine")]
    return (volumes[:-2], True) if told == wanted else (volumes, False)


def assert_says(engine: dict[str, Any], plan: Plan, rank: Rank) -> None:
    """The service is the plan's container, whole."""
    container = rank.container
    argv, env = process(engine)
    assert argv == facts.process(rank)
    assert env == dict(container.env)
    assert passed_through(engine) == set(container.secrets)
    assert engine["image"] == container.image
    assert engine["container_name"] == container.name
    assert engine.get("platform") == container.platform
    assert engine.get("user") == container.user
    assert (engine["network_mode"], engine["ipc"]) == (container.network, container.ipc)
    assert engine["restart"] == container.restart
    assert int(engine.get("shm_size", 0)) == (container.shm_size or 0)
    assert int(engine.get("mem_limit", 0)) == (container.memory or 0)
    assert engine.get("devices", []) == list(container.devices)
    assert engine.get("cap_add", []) == list(container.cap_add)
    assert engine.get("ulimits", {}) == {
        name: limit if isinstance(limit, int) else {"soft": limit[0], "hard": limit[1]}
        for name, limit in container.ulimits.items()
    }
    assert engine.get("oom_score_adj") == container.oom_score_adj
    assert engine["stop_grace_period"] == f"{container.stop_grace}s"
    assert engine["labels"].items() >= {**container.labels, "dev.rcc.plan": plan.plan}.items()
    secrets = [("~/.config/rcc/secrets", "/rcc/secrets", True)] if container.secrets else []
    volumes, told = without_running(engine.get("volumes", []))
    assert told == (bool(rank.ports) or container.memory is not None)
    mounted = [(one["source"], one["target"], one["read_only"]) for one in volumes]
    assert mounted == facts.mounts(rank, "./files", "~", *secrets)
    kinds = {mount.target: mount.kind for mount in container.mounts}
    for one in volumes:
        assert one["type"] == "bind"
        made = kinds.get(one["target"]) in ("cache", "staged") or one["target"] == "/rcc/secrets"
        assert one["bind"] == {"create_host_path": made}
    assert ("test" in engine["healthcheck"]) == (container.healthcheck is not None)


@pytest.mark.parametrize("name", sorted(PLANS))
def test_every_rank_says_its_plan(name: str) -> None:
    plan = PLANS[name]
    made = files(plan)

    assert list(made) == [rank.rank for rank in plan.ranks]
    for rank in plan.ranks:
        document = read_compose(made[rank.rank])
        assert document["name"] == rank.container.name
        assert_says(document["services"]["engine"], plan, rank)


def test_the_gpu_is_reserved_and_health_is_asked_on_the_head_only() -> None:
    head, worker = (engine_of(files(four())[number]) for number in (0, 1))

    (device,) = head["deploy"]["resources"]["reservations"]["devices"]
    assert device == {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
    assert head["healthcheck"]["test"][0] == "CMD-SHELL"
    assert "http://127.0.0.1:30000/health" in head["healthcheck"]["test"][1]
    assert head["healthcheck"]["start_period"] == "2700s"
    assert worker["healthcheck"] == {"disable": True}


def test_one_shot_services_come_first() -> None:
    services = read_compose(files(RICH)[0])["services"]
    done = {"condition": "service_completed_successfully"}

    assert services["engine"]["depends_on"] == {"stage": done}
    assert services["stage"]["depends_on"] == {"prepare": done}
    assert read_compose(files(single())[0])["services"]["engine"]["depends_on"] == {"prepare": done}
    assert {services[name]["restart"] for name in ("prepare", "stage")} == {"no"}
    # A changed plan makes them anew, so that they look again.
    assert {services[name]["labels"]["dev.rcc.plan"] for name in services} == {RICH.plan}


def test_staging_runs_the_node_part_where_the_rows_will_be() -> None:
    stage = read_compose(files(four())[2])["services"]["stage"]
    made = emitted(target, four())

    assert process(stage)[0] == [
        *("python3", "-I", "/rcc/rcc-node.pyz", "stage", "--plan", "/rcc/stage.json", "--rank", "2")
    ]
    mounts = {
        one["target"]: (one["source"], one["read_only"], one["bind"]["create_host_path"]) for one in stage["volumes"]
    }
    assert mounts["/home/spark/rows"] == ("/home/spark/rows", False, True)
    assert mounts["/mnt/nas/ai/huggingface/hub"] == ("/mnt/nas/ai/huggingface/hub", True, False)
    assert stage["network_mode"] == "none"
    told = read_plan(made["compose/spark3/files/stage.json"].data)
    assert (told.rank, told.blocks[0].dst, told.blocks[0].rows) == (
        2,
        "/home/spark/rows",
        four().ranks[2].staging[0].rows,
    )
    assert set(mounts) <= {"/rcc/rcc-node.pyz", "/rcc/stage.json", "/home/spark/rows", "/mnt/nas/ai/huggingface/hub"}


def test_another_image_can_stage() -> None:
    image = Image("docker.io/library/python:3.12-slim", "sha256:" + "5" * 64)
    services = read_compose(files(replace(four(), staging_image=image))[0])["services"]

    assert services["stage"]["image"] == "docker.io/library/python@sha256:" + "5" * 64
    assert services["engine"]["image"] == services["prepare"]["image"] == four().ranks[0].container.image


def test_only_what_is_needed_is_carried() -> None:
    assert sorted(emitted(target, single())) == ["compose/spark1/compose.yaml", "compose/spark1/files/prepare"]
    assert sorted(path for path in emitted(target, four()) if "spark2" in path) == [
        "compose/spark2/compose.yaml",
        "compose/spark2/files/carried/launch.sh",
        "compose/spark2/files/enter",
        "compose/spark2/files/prepare",
        "compose/spark2/files/rcc-node.pyz",
        "compose/spark2/files/stage.json",
    ]


# --- hard cases ----------------------------------------------------------------------------------------------------


def refused(case: HardCase) -> bool:
    # What one target refuses for its own sake, and what is refused for all since tools differ.
    return bool(case.refused_by("compose") or case.refused_by("docker_run"))


def survivors(cases: Iterable[HardCase]) -> list[str]:
    """Cases whose value does not arrive as it is, or that are said although they cannot be."""
    wrong = []
    for case in cases:
        plan = of_case(case)
        made = target.emit(plan)
        try:
            assert bool(made.findings) == refused(case)
            assert bool(made.artifacts) != refused(case)
            if made.artifacts:
                assert_says(engine_of(_text(made)), plan, plan.ranks[0])
        except (AssertionError, UnfaithfulError, UnicodeError, yaml.YAMLError):
            wrong.append(case.id)
    return wrong


def _text(made: Emitted) -> str:
    return next(one.data for one in made.artifacts if one.path.endswith("/compose.yaml")).decode("ascii")


@pytest.mark.parametrize("kind", ["env", "arg", "path", "label"])
def test_hard_cases_arrive_or_are_refused(kind: str) -> None:
    assert survivors(hard_cases(kind)) == []


def _dumped(value: object) -> Encoded:
    return Encoded(yaml.safe_dump(value, default_flow_style=True, width=1 << 20).removesuffix("...\n").strip("\n"))


Encode = Callable[[object], Encoded]
NAIVE: dict[str, Encode] = {
    "compose_plain_scalar": lambda value: Encoded(str(value)),
    "compose_quoted_no_dollar_doubling": encode.yaml,
    "compose_json_dumps_ascii": lambda value: Encoded(json.dumps(value)),
    "compose_json_dumps_raw": lambda value: Encoded(json.dumps(value, ensure_ascii=False)),
    "compose_pyyaml_safe_dump": _dumped,
}


@pytest.mark.parametrize("name", sorted(NAIVE))
def test_a_naive_encoder_would_be_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    naive = NAIVE[name]

    def doubled(value: object) -> Encoded:
        keeps = name in ("compose_plain_scalar", "compose_quoted_no_dollar_doubling")
        return naive(value.replace("$", "$$") if isinstance(value, str) and not keeps else value)

    monkeypatch.setattr(encoders, "value", doubled)
    from rcc_targets import compose

    compose._environment.cache_clear()
    try:
        cases = [case for case in hard_cases("env", "arg") if not refused(case) and len(case.value) < 1000]
        caught = set(survivors(cases))
    finally:
        compose._environment.cache_clear()
    expected = {case.id for case in cases if any(one.startswith(name) for one in case.naive)}

    assert len(caught) > 1
    assert expected <= caught


@examples(300)
@given(plans())
def test_generated_plans_arrive(plan: Plan) -> None:
    assert_says(engine_of(files(plan)[0]), plan, plan.ranks[0])


# --- what a compose file cannot say --------------------------------------------------------------------------------

REFUSED = {
    "a name longer than a key": (single(env={"A" * 2000: "x"}), "RCC1006"),
    "a label longer than a key": (single(labels={"a" * 2000: "x"}), "RCC1006"),
    "a project's name": (
        replace(single(), ranks=(replace(single().ranks[0], container=container("Hello.rank0")),)),
        "RCC1007",
    ),
    "a colon where docker makes the folder": (
        single(mounts=(Mount("/srv/a:b", "/rcc/cache", False, "cache"),)),
        "RCC1005",
    ),
    "a colon where rows are mounted": (single(mounts=(Mount("/srv/a", "/b:c", True, "staged"),)), "RCC1005"),
    "a colon in dst": (
        with_rank(four(), staging=(replace(four().ranks[0].staging[0], dst="/srv/a:b"),)),
        "RCC1005",
    ),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_compose_cannot_say_is_refused(case: str) -> None:
    plan, code = REFUSED[case]
    made = target.emit(plan)

    assert ([one.code for one in made.findings], made.artifacts) == ([code], ())


# --- the real docker compose ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def daemon() -> Iterator[FakeDaemon]:
    with fake_daemon() as running:
        yield running


def compose(folder: Path, *words: str, host: str = "unix:///nowhere") -> str:
    """The real program, in an environment whose variables would show up where a `$` is not doubled."""
    env = {"PATH": os.environ["PATH"], "HOME": HOME, "DOCKER_HOST": host, "X": "VAL", "A": "VAL", "HF_TOKEN": "given"}
    done = subprocess.run([str(COMPOSE), *words], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def configured(folder: Path) -> dict[str, Any]:
    """What the real program understood; it prints every dollar doubled again."""

    def halved(value: Any) -> Any:
        if isinstance(value, dict):
            return {halved(key): halved(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [halved(inner) for inner in value]
        return value.replace("$$", "$") if isinstance(value, str) else value

    return dict(halved(json.loads(compose(folder, "config", "--format", "json"))))


def together(several: list[Plan], folder: Path) -> Path:
    """One compose file with the engine of each plan as a service: the real program takes long to start."""
    folder.mkdir(exist_ok=True)
    lines = ['name: "together"', "volumes: {running: {}}", "services:"]
    for number, plan in enumerate(several):
        text = files(plan)[0]
        body = text[text.index("  engine:\n") : text.index("\n  # Checks")].splitlines()
        kept = [line for line in body[1:] if not line.startswith("    container_name:")]
        del kept[kept.index("    depends_on:") : kept.index("    depends_on:") + 3]
        lines += [f"  e{number}:", *kept]
    (folder / "compose.yaml").write_text("\n".join(lines) + "\n")
    return folder


def test_the_real_compose_reads_hard_values(tmp_path: Path) -> None:
    cases = [case for case in hard_cases("env", "arg", "path", "label") if not refused(case)]
    several = [of_case(case) for case in cases]
    services = configured(together(several, tmp_path / "all"))["services"]
    for number, (case, plan) in enumerate(zip(cases, several, strict=True)):
        assert_understood(services[f"e{number}"], plan.ranks[0], case.id)


def assert_understood(service: dict[str, Any], rank: Rank, what: str) -> None:
    """What the real program says of an engine."""
    container = rank.container
    assert [*service["entrypoint"], *(service["command"] or [])] == facts.process(rank), what
    assert (service.get("environment") or {}) == dict(container.env), what
    assert service["labels"].items() >= container.labels.items(), what
    volumes, _ = without_running(service.get("volumes", []))
    mounted = [(one["source"], one["target"]) for one in volumes]
    assert mounted == [(source, where) for source, where, _ in facts.mounts(rank, "./files", HOME)], what


@examples(300, per_example=6)
@given(st.lists(plans(), min_size=6, max_size=6))
def test_the_real_compose_reads_generated_plans(tmp_path_factory: pytest.TempPathFactory, several: list[Plan]) -> None:
    folder = together(several, tmp_path_factory.mktemp("compose"))
    services = configured(folder)["services"]
    for number, plan in enumerate(several):
        assert_understood(services[f"e{number}"], plan.ranks[0], str(plan))


def test_what_the_real_compose_asks_for(daemon: FakeDaemon, tmp_path: Path) -> None:
    folder = write_result(target, RICH, tmp_path) / "compose/spark1"
    daemon.created.clear()
    compose(folder, "create", "--pull", "never", host=daemon.host)
    made = dict(daemon.created)
    rank = RICH.ranks[0]
    body = made["dsv41-rank0"]
    host = body["HostConfig"]

    assert [*body["Entrypoint"], *body["Cmd"]] == facts.process(rank)
    assert dict(entry.split("=", 1) for entry in body["Env"]) == {**rank.container.env, "HF_TOKEN": "given"}
    assert body["Image"] == rank.container.image
    assert host["ShmSize"] == 32 << 30
    assert {(limit["Name"], limit["Soft"], limit["Hard"]) for limit in host["Ulimits"]} == {
        ("memlock", -1, -1),
        ("stack", 67108864, 67108864),
    }
    assert [(one["PathOnHost"], one["PathInContainer"]) for one in host["Devices"]] == [("/dev/infiniband",) * 2]
    assert host["DeviceRequests"][0]["Count"] == -1
    assert host["CapAdd"] in (["IPC_LOCK"], ["CAP_IPC_LOCK"])
    assert (host["NetworkMode"], host["IpcMode"], host["OomScoreAdj"]) == ("host", "private", 500)
    assert (body["StopTimeout"], host["RestartPolicy"]["Name"]) == (120, "no")
    assert host["LogConfig"] == {"Type": "json-file", "Config": {"max-size": "10m", "max-file": "5"}}
    assert body["Healthcheck"]["StartPeriod"] == 2700 * 10**9
    # A source that is missing is refused where it must be there, and made where it may be missing.
    assert {mount["Source"] for mount in host["Mounts"]} == {
        f"{folder}/files/carried/launch.sh",
        "/mnt/nas/ai/huggingface/hub",
        f"{folder}/files/enter",
        f"{folder}/files/prepare",
    }
    assert set(host["Binds"]) == {
        "/home/spark/rows:/rows:ro",
        f"{HOME}/.cache/rcc/dsv41:/rcc/cache:rw",
        f"{HOME}/.config/rcc/secrets:/rcc/secrets:ro",
        "dsv41-rank0_running:/rcc/running:rw",
    }
    assert made["dsv41-rank0-stage"]["User"] == "0:0"
    assert made["dsv41-rank0-prepare"]["HostConfig"]["NetworkMode"] == "host"


def test_a_secret_that_is_not_set_is_not_passed(daemon: FakeDaemon, tmp_path: Path) -> None:
    folder = write_result(target, with_secrets(single(), "OTHER"), tmp_path) / "compose/spark1"
    daemon.created.clear()
    compose(folder, "create", "--pull", "never", host=daemon.host)

    env = dict(daemon.created)["hello-rank0"]["Env"]
    assert not [entry for entry in env if entry.startswith("OTHER=")]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Compose files of all kinds."""
    odd = single(command=("no", "y", "1e3", "0o17", "2001-01-01", "😀\n"), env={"y": "no", "1e3": "~"}, memory=1 << 40)
    more = (odd, with_container(odd, user="1000:1000", ulimits={"nofile": (1024, 2048)}), single(env={}, mounts=()))
    folder = tmp_path_factory.mktemp("written")
    for number, plan in enumerate((*PLANS.values(), *more)):
        write_result(target, plan, folder / str(number))
    found = sorted(str(path) for path in folder.rglob("compose.yaml"))
    assert len(found) > 8
    return found


def test_the_compose_specification_has_nothing_to_say(written: list[str]) -> None:
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", *written]
    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_real_compose_has_nothing_to_say(written: list[str]) -> None:
    for path in written:
        compose(Path(path).parent, "config", "--quiet")


def test_yamllint_has_nothing_to_say(written: list[str]) -> None:
    rules = "{extends: default, rules: {line-length: disable, document-start: disable}}"
    words = [sys.executable, "-m", "yamllint", "--strict", "-d", rules, *written]
    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "")
