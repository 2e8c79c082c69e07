"""What the templates of the manifests are filled with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rcc.plan.model import Plan
from rcc.quick import dataclass
from rcc_targets.common.files import node_part
from rcc_targets.common.where import ENTER_FILE, NODE_PART
from rcc_targets.k8s.config import ConfigMap, config_map, file_maps
from rcc_targets.k8s.crew import Crew, by_leader, crews, is_group
from rcc_targets.k8s.pod import host_name, pod, secret_name
from rcc_targets.k8s.prepare import own_files
from rcc_targets.k8s.process import Process, process
from rcc_targets.k8s.storage import Claim, Storage, storage

RANK_LABEL = "dev.rcc.rank"


@dataclass(frozen=True, slots=True)
class Manifests:
    """Values for all templates, files by template, and the ConfigMaps among them."""

    fields: dict[str, Any]
    templates: dict[str, str]
    maps: list[ConfigMap]


def manifests(plan: Plan) -> Manifests:
    """Everything that the files of a plan say."""
    kept = storage(plan)
    engines = [(crew, process(plan, crew)) for crew in crews(plan)]
    ranks = config_map(plan, "ranks", _own(plan, kept, engines))
    tools = _tools(plan)
    maps = [ranks, *tools, *file_maps(plan)]
    bound = list(_bound(plan, kept))
    size = f"{len(plan.ranks)} ranks" if is_group(plan) else "1 rank"
    fields = {
        "title": f"Made by rcc for {plan.id}, {size}; {plan.plan}",
        "id": plan.id,
        "namespace": namespace(plan),
        "k8s": plan.k8s,
        "size": len(plan.ranks),
        "labels": _labels(plan),
        "selector": {"app.kubernetes.io/name": plan.id},
        "annotations": _annotations(plan),
        "pull_secrets": [{"name": name} for name in plan.k8s.image_pull_secrets],
        "pods": [pod(plan, crew, engine, kept, ranks.name, tools[0].name if tools else "") for crew, engine in engines],
        "claim_templates": [_claim_template(plan, claim) for claim in kept.claims.values()],
        "maps": maps,
        "bound": bound,
        "storage_class": _storage_class(plan),
        "services": list(_services(plan)),
        "secrets": sorted(plan.ranks[0].container.secrets),
        "secret_name": secret_name(plan),
    }
    return Manifests(fields, _templates(plan, bound=bool(bound), services=bool(fields["services"])), maps)


def namespace(plan: Plan) -> str:
    """Where all objects are: a claim's volume must state it."""
    return plan.k8s.namespace or "default"


def _templates(plan: Plan, *, bound: bool, services: bool) -> dict[str, str]:
    """Files in the order in which they are applied."""
    workload = "leaderworkerset" if by_leader(plan) else "statefulset"
    volumes = {"volumes": "volumes"} if bound else {}
    return {"config": "config", **volumes, **({"services": "services"} if services else {}), workload: workload}


def _own(plan: Plan, kept: Storage, engines: list[tuple[Crew, Process]]) -> dict[str, bytes]:
    """The files that each rank has of its own, for all ranks."""
    files = {}
    for crew, engine in engines:
        for rank in crew.ranks:
            files.update(own_files(plan, rank, kept))
            if rank.rank in engine.scripts:
                files[f"{ENTER_FILE}-{rank.rank}"] = engine.scripts[rank.rank].encode()
    return files


def _tools(plan: Plan) -> list[ConfigMap]:
    if not plan.ranks[0].staging:
        return []
    program = next(one.data for one in node_part(plan, plan.ranks[0], "") if one.path.endswith(NODE_PART))
    return [config_map(plan, "tools", {NODE_PART: program})]


def _labels(plan: Plan) -> dict[str, str]:
    return {"app.kubernetes.io/managed-by": "rcc", "app.kubernetes.io/name": plan.id}


def _annotations(plan: Plan) -> dict[str, str]:
    """The plan's labels, which may be longer than a label of Kubernetes, and which all ranks have alike."""
    first, *others = (rank.container.labels for rank in plan.ranks)
    alike = {key: text for key, text in first.items() if all(other.get(key) == text for other in others)}
    return dict(sorted({**alike, "dev.rcc.plan": plan.plan, "dev.rcc.target": "k8s"}.items()))


def _storage_class(plan: Plan) -> str:
    """None by default: claims and volumes name each other, and nothing is provisioned."""
    return plan.k8s.storage_class or ""


def _claim_template(plan: Plan, claim: Claim) -> dict[str, Any]:
    return {
        "metadata": {"name": claim.name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": str(claim.capacity)}},
            "storageClassName": _storage_class(plan),
        },
    }


def _bound(plan: Plan, kept: Storage) -> Iterator[dict[str, Any]]:
    """A volume for each rank and claim, with the name that the controller gives the claim of that rank's pod."""
    for rank in plan.ranks:
        layouts = {f"staged-{block.id}": block.layout for block in rank.staging if block.layout}
        for claim in kept.claims.values():
            layout = layouts.get(claim.name)
            yield {
                "name": f"{namespace(plan)}-{plan.id}-{claim.name}-{rank.rank}",
                "labels": {**_labels(plan), RANK_LABEL: str(rank.rank)},
                "annotations": {"dev.rcc.layout": layout} if layout else {},
                "capacity": str(claim.capacity),
                "claim": f"{claim.name}-{_pod_name(plan, rank.rank)}",
                "path": claim.paths[rank.rank],
                "type": claim.type,
                "host": host_name(plan, rank.rank),
            }


def _pod_name(plan: Plan, rank: int) -> str:
    """A LeaderWorkerSet's leader is `<id>-0`, and its workers are a StatefulSet of that name that counts from 1."""
    if by_leader(plan):
        return f"{plan.id}-0-{rank}" if rank else f"{plan.id}-0"
    return f"{plan.id}-{rank}"


def _services(plan: Plan) -> Iterator[dict[str, Any]]:
    """The head's API; a StatefulSet wants a service of its own name besides."""
    own = {"app.kubernetes.io/name": plan.id}
    head = {"apps.kubernetes.io/pod-index": "0"}
    if by_leader(plan):
        own = {"leaderworkerset.sigs.k8s.io/name": plan.id}
        head = {"leaderworkerset.sigs.k8s.io/worker-index": "0"}
    else:
        yield {"name": plan.id, "headless": True, "selector": own, "port": None}
    if plan.group.health:
        selector = {**own, **head} if is_group(plan) else own
        port = plan.group.health.check.port
        yield {"name": f"{plan.id}-api", "headless": False, "selector": selector, "port": port}
