"""Files that each rank has of its own, found in one ConfigMap by the rank's number."""

from __future__ import annotations

from typing import Any

from rcc_targets.k8s.crew import OWN_INDEX, Crew

RANKS = "ranks"
"""The volume of what each rank has of its own."""


def own_file(crew: Crew, name: str, path: str) -> dict[str, Any]:
    """The mount of such a file; the kubelet fills in the rank."""
    mount = {"name": RANKS, "mountPath": path, "readOnly": True}
    if crew.index is None:
        return {**mount, "subPath": f"{name}-{crew.ranks[0].rank}"}
    return {**mount, "subPathExpr": f"{name}-$({crew.index})"}


def index_variable(crew: Crew) -> list[dict[str, Any]]:
    """Where no controller does it, a pod's rank as a variable."""
    if crew.index != OWN_INDEX:
        return []
    label = {"fieldRef": {"fieldPath": "metadata.labels['apps.kubernetes.io/pod-index']"}}
    return [{"name": OWN_INDEX, "valueFrom": label}]
