"""Manifests, read back by parties that share no code with their writer, are the plan."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
import yaml
from hypothesis import given, settings

from rcc.diagnostic import has_errors
from rcc.plan.model import CarriedFile, FileRef, Mount, Plan
from rcc_targets.k8s import block, crew, target
from tests.support import checkpoint
from tests.support.examples import examples
from tests.support.hardcases import HardCase
from tests.support.k8s_cases import (
    CASES,
    LABELS,
    PLANS,
    accepted,
    codes,
    files_of,
    manifests_of,
    on_k8s,
    statefulset,
    with_case,
)
from tests.support.k8s_plan import differences
from tests.support.k8s_pods import strings
from tests.support.k8s_reader import read_manifests
from tests.support.plans import four, plans, sealed, single, with_asserts, with_container, with_rank, with_secrets
from tests.support.strict_yaml import UnfaithfulError


@pytest.mark.parametrize("name", PLANS)
def test_the_manifests_are_the_plan(name: str, tmp_path: Path) -> None:
    plan = PLANS[name]

    assert not differences(plan, files_of(plan), tmp_path)


# --- values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_hard_values_arrive_or_are_refused(case: HardCase, tmp_path: Path) -> None:
    plan = with_case(case)
    # What docker cannot carry is refused on all targets alike.
    reason = case.refused_by("k8s_yaml") or ((case.argv0 or case.kind == "path") and case.refused_by("systemd_exec"))
    if reason:
        emitted = target.emit(plan)
        assert has_errors(emitted.findings), reason
        assert not emitted.artifacts
    else:
        assert not differences(plan, files_of(plan), tmp_path)


@pytest.mark.parametrize("case", LABELS, ids=str)
def test_labels_are_annotations_which_hold_any_text(case: HardCase) -> None:
    plan = single(labels={"note": case.text})

    (template, *_) = manifests_of(plan).pod(0)
    assert template["metadata"]["annotations"]["note"] == case.text


@examples(300)
@given(plans())
def test_generated_plans_arrive_or_are_refused_by_name(tmp_path_factory: pytest.TempPathFactory, plan: Plan) -> None:
    emitted = target.emit(plan)
    if has_errors(emitted.findings):
        assert {one.code for one in emitted.findings} <= {"RCC1021", "RCC1025", "RCC1032"}
    else:
        files = {one.path: one.data.decode() for one in emitted.artifacts}
        assert not differences(plan, files, tmp_path_factory.getbasetemp())


def in_a_group(plan: Plan) -> Plan:
    """Two ranks with the hard values of a plan, and a variable and an argument that differ between them."""
    ranks = []
    for number, rank in enumerate(four().ranks[:3]):
        container = plan.ranks[0].container
        own = {f"V{name}": text + str(number % 2) for name, text in enumerate(container.env.values())}
        made = replace(
            rank.container,
            enter=None,
            late_env={},
            mounts=(),
            entrypoint=container.entrypoint,
            command=(*container.command, str(number), f"x{number}"),
            env=own,
        )
        ranks.append(replace(rank, container=made, gid=None, staging=(), asserts=()))
    return replace(four(), ranks=tuple(ranks), group=replace(four().group, size=3))


@settings(deadline=None, max_examples=25)
@given(plans(enter=True))
def test_what_ranks_have_of_their_own_arrives(tmp_path_factory: pytest.TempPathFactory, plan: Plan) -> None:
    group = in_a_group(plan)
    assert not differences(group, files_of(group), tmp_path_factory.getbasetemp())


def _without_doubled_dollars(text: str) -> str:
    return text


def _only_before_parentheses(text: str) -> str:
    return text.replace("$(", "$$(")


EXPANSIONS = {"no dollar": _without_doubled_dollars, "only parentheses": _only_before_parentheses}
SCALARS: dict[str, Callable[[object], str]] = {
    "plain": str,
    "json": lambda value: json.dumps(value),
    "raw json": lambda value: json.dumps(value, ensure_ascii=False),
    "library": lambda value: yaml.safe_dump(value).removesuffix("...\n").strip(),
    "quotes": lambda value: f'"{value}"' if isinstance(value, str) else str(value),
}


def _is_wrong(case: HardCase, work: Path) -> bool:
    plan = with_case(case)
    try:
        return bool(differences(plan, files_of(plan), work))
    except (UnfaithfulError, ValueError, AssertionError, TypeError, AttributeError, yaml.YAMLError):
        return True


@pytest.mark.parametrize("name", EXPANSIONS)
def test_a_naive_expansion_is_found_out(name: str, tmp_path: Path) -> None:
    with patch.object(crew, "literal", EXPANSIONS[name]):
        assert any(_is_wrong(case, tmp_path) for case in accepted())


@pytest.mark.parametrize("name", SCALARS)
def test_a_naive_scalar_is_found_out(name: str, tmp_path: Path) -> None:
    with patch.object(block, "yaml", SCALARS[name]):
        assert any(_is_wrong(case, tmp_path) for case in accepted())


# --- how it hangs together -----------------------------------------------------------------------------------------


def test_each_rank_runs_where_its_rows_are() -> None:
    made = manifests_of(four())

    for rank, seen in enumerate(made.engines({})):
        assert seen.node == f"spark{rank + 1}"
        assert seen.mounts["/rows"].source == "/home/spark/rows"
    assert [one["spec"]["hostPath"]["type"] for one in made.of("PersistentVolume")] == ["DirectoryOrCreate"] * 4


def test_a_group_without_rows_is_tied_to_its_nodes_too() -> None:
    plan = four()
    for rank in plan.ranks:
        mounts = tuple(mount for mount in rank.container.mounts if mount.kind != "staged")
        plan = with_rank(with_container(plan, rank.rank, mounts=mounts), rank.rank, staging=())

    assert [seen.node for seen in manifests_of(plan).engines({})] == ["spark1", "spark2", "spark3", "spark4"]


def test_the_group_is_made_anew_as_one() -> None:
    (workload,) = manifests_of(four()).of("LeaderWorkerSet")
    group = workload["spec"]["leaderWorkerTemplate"]

    assert group["restartPolicy"] == "RecreateGroupAfterStart"
    assert workload["spec"]["startupPolicy"] == "LeaderCreated"
    assert "livenessProbe" in group["leaderTemplate"]["spec"]["containers"][0]
    assert "livenessProbe" not in group["workerTemplate"]["spec"]["containers"][0]


def test_ranks_of_a_statefulset_all_ask_the_head() -> None:
    (workload,) = manifests_of(statefulset(four())).of("StatefulSet")
    engine = workload["spec"]["template"]["spec"]["containers"][0]

    assert workload["spec"]["podManagementPolicy"] == "Parallel"
    assert workload["spec"]["updateStrategy"] == {"type": "OnDelete"}
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert engine[name]["httpGet"] == {"host": "10.0.0.11", "path": "/health", "port": 30000}


def test_probes_leave_time_for_a_load_and_for_a_hiccup() -> None:
    (workload,) = manifests_of(four()).of("LeaderWorkerSet")
    engine = workload["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"][0]

    start, live = engine["startupProbe"], engine["livenessProbe"]
    assert start["periodSeconds"] * start["failureThreshold"] == 2700
    assert live["periodSeconds"] * live["failureThreshold"] >= 300
    assert live["timeoutSeconds"] >= 20


def test_staging_comes_before_the_engine_and_tries_again_by_itself(tmp_path: Path) -> None:
    made = manifests_of(four())
    for rank in range(4):
        seen = made.container(rank, {}, init="stage")
        assert seen.argv[:2] == (b"sh", b"-c")
        document = json.loads(seen.mounts["/rcc/stage.json"].content or b"")
        (staged,) = document["blocks"]
        assert document["rank"] == rank
        assert seen.mounts[staged["dst"]].source == "/home/spark/rows"
        assert not seen.mounts[staged["dst"]].read_only
        above = next(path for path in seen.mounts if staged["src"].startswith(path + "/"))
        model = four().models[0]
        assert (seen.mounts[above].source or "") + staged["src"].removeprefix(above) == model.host_path
        assert (seen.mounts["/rcc/rcc-node.pyz"].content or b"")[:2] == b"PK"
    tries = tmp_path / "tries"
    script = f'echo >>{tries}; [ "$(wc -l <{tries})" -ge 3 ]'
    loop = [word.decode() for word in made.container(0, {}, init="stage").argv[:4]]
    path = tmp_path / "sleep"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run([*loop, "sh", "-c", script], env=env, check=True, capture_output=True)
    assert len(tries.read_text()) == 3


def test_what_the_staging_container_is_told_stages_each_rank_s_rows(tmp_path: Path) -> None:
    made = checkpoint.make(tmp_path / "cache")
    plan = four()
    for rank in plan.ranks:
        (block,) = rank.staging
        block = replace(block, src=str(made.snapshot), dst=f"{tmp_path}/{rank.node}", source=None)
        block = replace(block, layout=None, rows=None)
        mounts = (Mount(block.dst, "/rows", True, "staged"),)
        plan = with_rank(
            with_container(plan, rank.rank, mounts=mounts), rank.rank, staging=(block,), hf_cache=str(made.cache)
        )
    manifests = manifests_of(plan)
    for rank in plan.ranks:
        seen = manifests.container(rank.rank, {}, init="stage")
        text = (seen.mounts["/rcc/stage.json"].content or b"").decode()
        for path, mounted in sorted(seen.mounts.items(), reverse=True):
            text = text.replace(path, mounted.source or path)
        (tmp_path / "program.pyz").write_bytes(seen.mounts["/rcc/rcc-node.pyz"].content or b"")
        words = [sys.executable, "-I", str(tmp_path / "program.pyz"), "stage", "--plan", "-"]
        text = text.replace("/rcc/source", str(made.cache))
        done = subprocess.run(words, input=text.encode(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        assert (tmp_path / rank.node / ".rcc/stamp").read_text().split()[1:3] == ["4", str(rank.rank)]


def test_a_missing_source_is_found_before_a_container_engine_makes_a_folder_of_it(tmp_path: Path) -> None:
    plan = single(mounts=(Mount(f"{tmp_path}/it's here", "/x", True, "bind"), Mount("/srv", "/y", True, "bind")))
    plan = with_rank(plan, ports=())
    seen = manifests_of(plan).container(0, {}, init="prepare")

    assert "/x" not in seen.mounts
    script = (seen.mounts["/rcc/prepare"].content or b"").decode()
    for path, mounted in seen.mounts.items():
        if path.startswith("/rcc/beside/"):
            script = script.replace(f"{path}/", f"{mounted.source}/".replace("//", "/"))
    run = ["sh", "-c", script]
    missing = subprocess.run(run, capture_output=True, check=False)
    assert missing.returncode == 78
    assert f"{tmp_path}/it's here is not on this node".encode() in missing.stderr
    (tmp_path / "it's here").write_text("")
    assert subprocess.run(run, capture_output=True, check=False).returncode == 0


def test_secrets_are_references() -> None:
    plan = with_secrets(single(), "HF_TOKEN")
    files = files_of(plan)
    engine = manifests_of(plan).pod(0)[0]["spec"]["containers"][0]

    reference = {"secretKeyRef": {"name": "hello-secrets", "key": "HF_TOKEN"}}
    assert {"name": "HF_TOKEN", "valueFrom": reference} in engine["env"]
    assert "create secret generic hello-secrets --from-file=HF_TOKEN" in files["k8s/kustomization.yaml"]


def test_a_device_plug_in_spares_the_privilege() -> None:
    plain = manifests_of(four()).pod(0)[0]["spec"]["containers"][0]
    plugged = manifests_of(on_k8s(four(), rdma_resource="rdma/hca")).pod(0)[0]["spec"]["containers"][0]

    assert plain["securityContext"]["privileged"] is True
    assert "privileged" not in plugged["securityContext"]
    assert plugged["resources"]["limits"] == {"nvidia.com/gpu": "1", "rdma/hca": "1"}
    assert "RCC1028" in codes(four())
    assert "RCC1028" not in codes(on_k8s(four(), rdma_resource="rdma/hca"))


def test_a_changed_file_gives_another_map_and_so_other_pods() -> None:
    def carrying(data: bytes) -> Plan:
        mount = Mount(FileRef("a.sh", "sha256:0"), "/a", True, "file")
        return sealed(replace(single(mounts=(mount,)), files=(CarriedFile("a.sh", "sha256:0", True, data),)))

    names = [manifests_of(carrying(data)).pod(0)[0]["spec"]["volumes"] for data in (b"a", b"b", b"a")]
    assert names[0] == names[2] != names[1]


def test_binary_files_are_carried_as_they_are(tmp_path: Path) -> None:
    data = bytes(range(256))
    mount = Mount(FileRef("x/a b.bin", "sha256:0"), "/a", True, "file")
    plan = sealed(replace(single(mounts=(mount,)), files=(CarriedFile("x/a b.bin", "sha256:0", False, data),)))

    assert not differences(plan, files_of(plan), tmp_path)


def own_variables(entrypoint: tuple[str, ...]) -> Plan:
    """A group whose ranks differ in a variable, so that a shell stands before the engine."""
    plan = four()
    for rank in plan.ranks:
        fields = {"entrypoint": entrypoint, "enter": None, "late_env": {}, "env": {"IP": str(rank.fabric)}}
        plan = with_rank(with_container(plan, rank.rank, **fields), rank.rank, gid=None, staging=())
    return plan


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        (single(env={"1A": "x"}), "RCC1021"),
        (single(env={"LWS_WORKER_INDEX": "x"}), "RCC1021"),
        (with_rank(single(), node="Spark_1"), "RCC1022"),
        (single(ulimits={"stack": 1}), "RCC1023"),
        (single(ulimits={"memlock": -1}), "RCC1023"),
        (single(oom_score_adj=5), "RCC1024"),
        (single(mounts=(Mount("/a", "/b:c", True, "bind"),)), "RCC1025"),
        (single(), "RCC1026"),
        (single(mounts=(Mount("~/a", "/b", True, "bind"),)), "RCC1027"),
        (single(devices=("/dev/fuse",)), "RCC1028"),
        (with_container(four(), 2, user="5"), "RCC1030"),
        (with_rank(four(), 2, gpus=2), "RCC1030"),
        (with_container(four(), 1, env={"A.B": "1"}), "RCC1021"),
        (single(labels={"a b": "x"}), "RCC1033"),
        (own_variables(("-x",)), "RCC1004"),
    ],
)
def test_what_kubernetes_cannot_say_is_told(plan: Plan, code: str) -> None:
    assert code in codes(plan)


def test_files_too_large_for_a_map_are_refused() -> None:
    mount = Mount(FileRef("a", "sha256:0"), "/a", True, "file")
    fits, too_large = (
        sealed(replace(single(mounts=(mount,)), files=(CarriedFile("a", "sha256:0", False, b"x" * size),)))
        for size in (1 << 20, (1 << 20) + 1)
    )

    assert "RCC1029" not in codes(fits)
    assert "RCC1029" in codes(too_large)


def test_memlock_is_no_loss_with_the_capability_that_lifts_it() -> None:
    assert "RCC1023" not in codes(single(ulimits={"memlock": -1}, cap_add=("IPC_LOCK",)))


def test_no_secret_and_no_asserted_text_is_lost(tmp_path: Path) -> None:
    plan = with_asserts(single(), {"/etc/it's": "a $text\nof lines"})
    text = "\n".join(string for thing in manifests_of(plan).objects for string in strings(thing))

    assert "a $text\nof lines" in text
    assert not differences(with_secrets(single(), "A"), files_of(with_secrets(single(), "A")), tmp_path)


def test_manifests_are_read_by_our_own_reader_alone() -> None:
    for path, text in files_of(four()).items():
        assert read_manifests(text), path
