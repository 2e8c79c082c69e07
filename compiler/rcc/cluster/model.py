"""A cluster: nodes, topologies, hardware, and what only Kubernetes wants to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from rcc.quick import dataclass
from rcc.recipe.model import Raw
from rcc.source import Path, Place
from rcc.syntax.document import Document, Part


@dataclass(frozen=True, slots=True)
class Node:
    """A machine. `host` is its management address, `fabric` where ranks meet; sizes in bytes.

    `index` counts the tables of the file, from 0.
    """

    name: str
    host: str | None = None
    fabric: str | None = None
    ssh: str | None = None
    install_dir: str | None = None
    arch: str | None = None
    gpus: int | None = None
    memory: int | None = None
    hf_cache: str | None = None
    cache_dir: str | None = None
    hca: str | None = None
    ifname: str | None = None
    gid_index: str | int | None = None
    vars: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, Raw] = field(default_factory=dict)
    index: int = 0

    @property
    def meeting_address(self) -> str | None:
        """The fabric address, which is the management address where the file names none."""
        return self.fabric or self.host


@dataclass(frozen=True, slots=True)
class K8sKeys:
    """The `[k8s]` table."""

    namespace: str | None = None
    storage_class: str | None = None
    runtime_class: str | None = None
    rdma_resource: str | None = None
    image_pull_secrets: tuple[str, ...] = ()
    tolerations: tuple[Mapping[str, str | int], ...] = ()
    node_names: Mapping[str, str] = field(default_factory=dict)
    hf_claim: str | None = None


@dataclass(frozen=True, slots=True)
class Hardware:
    """What containers need on a kind of machine; `memory` in bytes, `arch` None where any will do."""

    arch: str | None = None
    gpus: int = 0
    memory: int | None = None
    unified_memory: bool = False
    rdma: bool = False
    devices: tuple[str, ...] = ()
    cap_add: tuple[str, ...] = ()
    ulimits: Mapping[str, int | tuple[int, int]] = field(default_factory=dict)
    ipc: str = "private"
    oom_score_adj: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster file as written. `hardware` names a built-in profile or one of `profiles`."""

    nodes: tuple[Node, ...]
    name: str = "cluster"
    hf_cache: str | None = None
    topology: str | None = None
    hardware: str | None = None
    ssh_user: str | None = None
    profiles: Mapping[str, Hardware] = field(default_factory=dict)
    nccl: Mapping[str, Mapping[str, Raw]] = field(default_factory=dict)
    vars: Mapping[str, str] = field(default_factory=dict)
    k8s: K8sKeys = field(default_factory=K8sKeys)


@dataclass(frozen=True, slots=True)
class ClusterFile:
    """A cluster and the file that it was read from; `document` is None for the built-in one-node cluster.

    A linter gets a refused one as well: `lost` then names the keys that could not be read, as `rcc.recipe.rest` does.
    """

    cluster: Cluster
    document: Document | None
    lost: frozenset[str] = frozenset()

    def place(self, path: Path, part: Part = "value") -> Place | None:
        """Where a value stands, where there is a file."""
        return self.document.place(path, part) if self.document else None

    def node_place(self, node: Node, *path: str, part: Part = "value") -> Place | None:
        """Where a value of a node stands, where there is a file."""
        return self.place(("nodes", node.index, *path), part)
