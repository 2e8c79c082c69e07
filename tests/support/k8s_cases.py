"""Plans that manifests are tried on, and hard values in them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rcc.diagnostic import has_errors
from rcc.plan.model import Mount, Plan
from rcc_targets.k8s import target
from tests.support.hardcases import HardCase, hard_cases
from tests.support.k8s_pods import Manifests
from tests.support.plans import four, sealed, single, with_container, with_rank, with_secrets


def files_of(plan: Plan) -> dict[str, str]:
    """Every manifest, by path."""
    emitted = target.emit(plan)
    assert not has_errors(emitted.findings), emitted.findings
    return {one.path: one.data.decode() for one in emitted.artifacts}


def manifests_of(plan: Plan) -> Manifests:
    return Manifests({path: text for path, text in files_of(plan).items() if "kustomization" not in path})


def codes(plan: Plan) -> list[str]:
    return [one.code for one in target.emit(plan).findings]


def on_k8s(plan: Plan, **fields: Any) -> Plan:
    """The plan with other values of the cluster's `[k8s]` table."""
    return sealed(replace(plan, k8s=replace(plan.k8s, **fields)))


def different_everywhere() -> Plan:
    """Four ranks that differ in arguments, variables and paths, and not only by their number."""
    plan = four()
    for rank in plan.ranks:
        mounts = tuple(
            replace(mount, source=f"/data/{rank.node}/cache") if mount.kind == "cache" else mount
            for mount in rank.container.mounts
        )
        plan = with_rank(
            with_container(
                plan,
                rank.rank,
                command=("--node", rank.node, *(["--headless"] if rank.rank else []), "$(X) $X 'q'"),
                env={**rank.container.env, "HOST_IP": f"it's {rank.fabric}", "X": "VAL"},
                mounts=mounts,
            ),
            rank.rank,
            cache_dir=f"/data/{rank.node}/cache",
        )
    return plan


def statefulset(plan: Plan) -> Plan:
    return on_k8s(plan, workload="statefulset")


PLANS = {
    "single": single(),
    "four": four(),
    "statefulset": statefulset(four()),
    "different": different_everywhere(),
    "different-statefulset": statefulset(different_everywhere()),
    "two": replace(four(), ranks=four().ranks[:2], group=replace(four().group, size=2, start_order=(1, 0))),
    "secrets": with_secrets(single(), "HF_TOKEN", "OTHER"),
    "fields": single(
        user="1000:100", memory=1 << 30, ipc="host", cap_add=("SYS_NICE",), shm_size=1 << 20, stop_grace=7
    ),
    "named": on_k8s(
        four(),
        namespace="llm",
        storage_class="local",
        runtime_class="nvidia",
        rdma_resource="rdma/hca",
        image_pull_secrets=("hub",),
        tolerations=({"key": "gpu", "operator": "Exists", "tolerationSeconds": 5},),
        node_names={"spark1": "dgx-1"},
        hf_claim="models",
    ),
    "no health": with_container(single(), healthcheck=None),
    "binds": single(
        mounts=(Mount("/srv/x", "/x", True, "bind"), Mount("/srv/y", "/y", False, "bind", "sha256:" + "0" * 64))
    ),
}


CASES = hard_cases("env", "arg", "path")
LABELS = hard_cases("label")


def with_case(case: HardCase) -> Plan:
    """A plan with the value of a case where its kind stands, beside a variable that expansions would find."""
    fields: dict[str, Any] = {"env": {"X": "VAL", case.name: case.text}}
    if case.kind == "path":
        source, inside = (case.text, "/b") if case.role == "source" else ("/srv/src", case.text)
        fields = {"mounts": (Mount(source, inside, True, "bind"),)}
    elif case.kind == "arg":
        fields = {"env": {"X": "VAL"}, "command": ("--x", case.text)}
        if case.argv0:
            fields = {"entrypoint": (case.text,)}
    plan = single()
    rank = replace(plan.ranks[0], container=replace(plan.ranks[0].container, **fields))
    return replace(plan, ranks=(rank,))


def accepted() -> Iterator[HardCase]:
    yield from (case for case in CASES if not case.refused_by("k8s_yaml") and not case.argv0)
