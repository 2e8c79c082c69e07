"""The plan: what every target must say, and nothing that it may decide.

Field names are those of `rcc plan --json`. Sizes are bytes, durations whole seconds. A path that starts with `~/`
is below the home of the user who starts the container on that node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from rcc.quick import dataclass
from rcc.resolve.model import ResolvedStaging

Staging = ResolvedStaging
"""Staging blocks are resolved as targets say them."""


@dataclass(frozen=True, slots=True)
class Unpinned:
    """Something that may be different at the next start, and why: kind is `image`, `model`, `mount` or `staging`."""

    kind: str
    id: str
    why: str


@dataclass(frozen=True, slots=True)
class Image:
    """What the recipe asked for, and the digest (of the index, where there is one) that the lock answered."""

    reference: str
    digest: str | None


@dataclass(frozen=True, slots=True)
class Model:
    """A model by id (`model` is the recipe's main one); `tree` is the hash over its files from the lock.

    `path` is where the container finds it, `host_path` where the node does; null where only the repo id is known.
    """

    id: str
    repo: str
    commit: str | None
    tree: str | None
    path: str | None
    host_path: str | None


@dataclass(frozen=True, slots=True)
class CarriedFile:
    """A file that the artifacts carry; `data` stands in no plan, only its hash."""

    file: str
    sha256: str
    executable: bool
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class FileRef:
    """A mount's source that is carried in the artifact: the file's name in `Plan.files`."""

    file: str
    sha256: str


MountKind = Literal["bind", "file", "hub", "cache", "staged", "model"]


@dataclass(frozen=True, slots=True)
class Mount:
    """A bind mount.

    `kind` says what it is for: `bind` and `file` (carried) are the recipe's, `hub` the model cache, `cache` the
    node's writable compile cache (made before the start), `staged` a staging `dst` (it may be empty before staging),
    `model` a model that is given as a path. `sha256` pins an absolute file, checked before each start.
    """

    source: str | FileRef
    target: str
    read_only: bool
    kind: MountKind
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Healthcheck:
    """An HTTP GET that answers 200 when the group serves; durations in seconds.

    `address` is where the head asks itself: the loopback, or the one address that the engine listens on.
    """

    port: int
    path: str
    interval: int
    timeout: int
    retries: int
    start_period: int
    address: str = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Container:
    """One rank's container. `entrypoint + command` is the argv, `env` the environment of the process finally exec'ed.

    `enter` stands before that argv where something is late-bound, staged, asserted or secret, and execs it.
    `late_env` maps a variable to the late-bound name that gives its value. `ulimits` values are a number (-1 is
    unlimited) or a pair soft, hard. `platform` is null where the node may be of any architecture. `gpus` is `all`, a
    number or null.
    """

    name: str
    image: str
    platform: str | None
    enter: tuple[str, ...] | None
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    env: Mapping[str, str]
    late_env: Mapping[str, str]
    secrets: tuple[str, ...]
    user: str | None
    mounts: tuple[Mount, ...]
    shm_size: int | None
    memory: int | None
    network: str
    ipc: str
    gpus: str | int | None
    devices: tuple[str, ...]
    cap_add: tuple[str, ...]
    ulimits: Mapping[str, int | tuple[int, int]]
    oom_score_adj: int | None
    stop_grace: int
    restart: str
    healthcheck: Healthcheck | None
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Assert:
    """A text that a file in the image must hold."""

    path: str
    contains: str


@dataclass(frozen=True, slots=True)
class Gid:
    """How `enter` finds the RoCE v2 GID index: NCCL's HCA list and the fabric address to look for."""

    hca: str
    fabric: str


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank: its node, how to reach it, and the one container there. `ssh` is `user@host:port` or an alias.

    `gpus` is how many the node has: what `all` means where a target counts them.
    """

    rank: int
    node: str
    host: str | None
    fabric: str | None
    head: bool
    ssh: str | None
    install_dir: str
    arch: str | None
    gpus: int
    unified_memory: bool
    hf_cache: str | None
    cache_dir: str
    ports: tuple[int, ...]
    gid: Gid | None
    asserts: tuple[Assert, ...]
    container: Container
    staging: tuple[Staging, ...]


@dataclass(frozen=True, slots=True)
class GroupHealth:
    """Where the group's health is asked: the head's. `host` is null where only the head itself can ask."""

    rank: int
    host: str | None
    check: Healthcheck


@dataclass(frozen=True, slots=True)
class Group:
    """The ranks as one: `restart` is `group` (never one rank alone) or, for a single node, `self`."""

    size: int
    start_order: tuple[int, ...]
    health: GroupHealth | None
    restart: str


@dataclass(frozen=True, slots=True)
class K8s:
    """The cluster file's `[k8s]` table and the workload asked for; only the Kubernetes target reads it."""

    namespace: str | None
    storage_class: str | None
    runtime_class: str | None
    rdma_resource: str | None
    image_pull_secrets: tuple[str, ...]
    tolerations: tuple[Mapping[str, str | int], ...]
    node_names: Mapping[str, str]
    hf_claim: str | None
    workload: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What runs: `plan` is the hash of all of it but `name` and itself."""

    id: str
    name: str
    plan: str
    locked: bool
    unpinned: tuple[Unpinned, ...]
    image: Image
    staging_image: Image | None
    models: tuple[Model, ...]
    group: Group
    files: tuple[CarriedFile, ...]
    k8s: K8s
    ranks: tuple[Rank, ...]
