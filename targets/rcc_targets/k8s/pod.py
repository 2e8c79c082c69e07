"""A pod template's content, as nested values in the names of the Kubernetes API."""

from __future__ import annotations

from typing import Any

from rcc.plan.model import Container, Plan
from rcc.quick import dataclass
from rcc_targets.common.where import ENTER, ENTER_FILE
from rcc_targets.k8s.crew import Crew
from rcc_targets.k8s.own import RANKS, index_variable, own_file
from rcc_targets.k8s.prepare import TOOLS, Init, init_containers
from rcc_targets.k8s.probes import probes
from rcc_targets.k8s.process import Process
from rcc_targets.k8s.storage import INFINIBAND, Storage


@dataclass(frozen=True, slots=True)
class Pod:
    """What the template `pod.yaml` fills in."""

    container: Container
    init: tuple[Init, ...]
    node_selector: dict[str, str]
    process: Process
    env: list[dict[str, Any]]
    ports: list[dict[str, Any]]
    probes: dict[str, Any]
    limits: dict[str, str]
    security: dict[str, Any]
    mounts: list[dict[str, Any]]
    volumes: list[dict[str, Any]]


def pod(plan: Plan, crew: Crew, process: Process, kept: Storage, ranks: str, tools: str) -> Pod:
    """The pods of a crew; `ranks` and `tools` name ConfigMaps."""
    container = crew.ranks[0].container
    maps = {RANKS: ranks, **({TOOLS: tools} if plan.ranks[0].staging else {})}
    return Pod(
        container=container,
        init=tuple(init_containers(plan, crew, kept)),
        node_selector=_node_selector(plan),
        process=process,
        env=[*index_variable(crew), *_variables(process), *_secrets(plan, crew)],
        ports=_ports(plan, crew),
        probes=probes(plan, crew),
        limits=_limits(plan, crew),
        security=_security(plan, container),
        mounts=[*kept.mounts, *([own_file(crew, ENTER_FILE, ENTER)] if process.scripts else [])],
        volumes=[*kept.pod_volumes(), *({"name": name, "configMap": {"name": one}} for name, one in maps.items())],
    )


def secret_name(plan: Plan) -> str:
    """The Secret that holds what the recipe lists under `secrets`, each under its own name."""
    return f"{plan.id}-secrets"


def _variables(process: Process) -> list[dict[str, Any]]:
    return [{"name": name, "value": value} for name, value in process.env.items()]


def _secrets(plan: Plan, crew: Crew) -> list[dict[str, Any]]:
    return [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": secret_name(plan), "key": name}}}
        for name in crew.ranks[0].container.secrets
    ]


def _node_selector(plan: Plan) -> dict[str, str]:
    """The node itself where there is one; else volumes choose it, and the selector says what it must be."""
    platforms = {rank.container.platform for rank in plan.ranks}
    platform = next(iter(platforms)) if len(platforms) == 1 else None
    selector = {"kubernetes.io/arch": platform.partition("/")[2]} if platform else {}
    host = host_name(plan, 0)
    # Without a cluster file the one node is `localhost`, which is none of Kubernetes: any will do.
    return selector if len(plan.ranks) > 1 or host == "localhost" else {**selector, "kubernetes.io/hostname": host}


def host_name(plan: Plan, rank: int) -> str:
    """The node of a rank as Kubernetes calls it."""
    node = plan.ranks[rank].node
    return plan.k8s.node_names.get(node, node)


def _ports(plan: Plan, crew: Crew) -> list[dict[str, Any]]:
    """Ports of the host, so that the scheduler sees who wants them."""
    numbers = sorted({port for rank in crew.ranks for port in rank.ports})
    api = plan.group.health.check.port if plan.group.health else None
    return [{"name": "api" if port == api else f"port-{port}", "containerPort": port} for port in numbers]


def _limits(plan: Plan, crew: Crew) -> dict[str, str]:
    rank = crew.ranks[0]
    gpus = rank.gpus if rank.container.gpus == "all" else rank.container.gpus
    limits = {"memory": str(rank.container.memory)} if rank.container.memory is not None else {}
    if gpus:
        limits["nvidia.com/gpu"] = str(gpus)
    if plan.k8s.rdma_resource and any(device.startswith(INFINIBAND) for device in rank.container.devices):
        limits[plan.k8s.rdma_resource] = "1"
    return limits


def privileged(plan: Plan, container: Container) -> bool:
    """Whether a device is handed over as a path, which only a privileged container may open."""
    return any(opens_as_path(plan, device) for device in container.devices)


def opens_as_path(plan: Plan, device: str) -> bool:
    """Whether no device plug-in hands the device out."""
    return not (plan.k8s.rdma_resource and device.startswith(INFINIBAND))


def _security(plan: Plan, container: Container) -> dict[str, Any]:
    context: dict[str, Any] = {"privileged": True} if privileged(plan, container) else {}
    if container.cap_add:
        context["capabilities"] = {"add": list(container.cap_add)}
    if container.user is not None:
        user, _, group = container.user.partition(":")
        context["runAsUser"] = int(user)
        context.update({"runAsGroup": int(group)} if group else {})
    return context
