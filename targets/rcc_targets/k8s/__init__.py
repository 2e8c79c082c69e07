"""Kubernetes: a LeaderWorkerSet or StatefulSet whose rank r runs on the node that holds the data of rank r."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rcc.diagnostic import has_errors, in_order
from rcc.emit.model import Artifact, Emitted, Loss, Target
from rcc.plan.model import Plan
from rcc_targets.common.finding import refused

if TYPE_CHECKING:
    from jinja2 import Environment

LOSSES = (
    Loss("container.command", "shared by the ranks; `$(LWS_WORKER_INDEX)` or `$(RCC_RANK)` is a rank's number"),
    Loss("container.env", "the same; what else differs between ranks is set by the rank's own `enter`"),
    Loss(
        "container.healthcheck", "probes of the kubelet; after five minutes without answer the engine is started anew"
    ),
    Loss("container.memory", "a limit; how much of it may be swapped is for the nodes to say"),
    Loss("container.name", "pods are named by their controller"),
    Loss("container.oom_score_adj", "not said: the kubelet decides"),
    Loss("container.ulimits", "not said, but for `memlock`, which `IPC_LOCK` lifts"),
    Loss("container.shm_size", "an `emptyDir` in memory, which counts as the container's memory"),
    Loss("container.devices", "`rdma_resource` of a device plug-in; without one a path, and a privileged container"),
    Loss("container.mounts", "rows by volumes of their own for each rank; carried files read-only, from ConfigMaps"),
    Loss("container.restart", "by the kubelet and the controller"),
    Loss("container.secrets", "by `secretKeyRef` from the Secret `<id>-secrets`"),
    Loss("group.start_order", "all at once"),
    Loss("ranks.cache_dir", "below `~` an `emptyDir`, gone with the pod"),
    Loss("ranks.gpus", "whether another process uses the GPU is not asked before a start"),
    Loss("ranks.hf_cache", "a shared folder that does not answer is not noticed before the kubelet waits for it"),
    Loss("ranks.install_dir", "nothing is installed on the nodes"),
    Loss("ranks.unified_memory", "the page cache is not dropped before a start"),
)


def emit(plan: Plan) -> Emitted:
    """Manifests and a kustomization for all ranks."""
    from rcc_targets.k8s.limits import refused_here, too_large

    findings = in_order((*refused(plan), *refused_here(plan)))
    if has_errors(findings):
        return Emitted((), findings)
    from rcc_targets.k8s.manifests import manifests

    made = manifests(plan)
    findings = in_order((*findings, *too_large(made.maps)))
    if has_errors(findings):
        return Emitted((), findings)
    return Emitted(tuple(_artifacts(made.fields, made.templates)), findings)


def _artifacts(fields: dict[str, Any], templates: dict[str, str]) -> Iterator[Artifact]:
    for name, template in (*templates.items(), ("kustomization", "kustomization")):
        text = _environment().get_template(f"{template}.yaml.j2").render(**fields, resources=_resources(templates))
        yield Artifact(f"k8s/{name}.yaml", text.encode(), "manifest")


def _resources(templates: dict[str, str]) -> list[str]:
    return [f"{name}.yaml" for name in templates]


@cache
def _environment() -> Environment:
    from rcc_targets.common.encode import comment, yaml
    from rcc_targets.common.render import environment
    from rcc_targets.k8s.block import block

    return environment(Path(__file__).parent / "templates", {"block": block, "comment": comment, "yaml": yaml})


target = Target("k8s", "Kubernetes: a LeaderWorkerSet, or a StatefulSet", emit, LOSSES)
