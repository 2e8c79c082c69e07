"""What Kubernetes cannot say, or says in another way."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rcc.diagnostic import Finding, finding
from rcc.plan.model import Container, FileRef, Plan, Rank
from rcc.source import Path
from rcc_targets.common.about import of_container, of_rank, texts_of
from rcc_targets.common.finding import IDENTIFIER, OF_THE_SHELL, shown
from rcc_targets.k8s.config import LARGEST, ConfigMap
from rcc_targets.k8s.crew import LWS_INDEX, OWN_INDEX, Crew, crews, is_group
from rcc_targets.k8s.pod import host_name, opens_as_path
from rcc_targets.k8s.probes import asked_of
from rcc_targets.k8s.process import own_names, process

ENV_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
KEY_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
HOST_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
LONGEST_HOST = 63
RESERVED = frozenset({LWS_INDEX, OWN_INDEX, "LWS_GROUP_SIZE", "LWS_LEADER_ADDRESS"})


def refused_here(plan: Plan) -> Iterator[Finding]:
    """What stands against manifests, and what they say in another way."""
    yield from _names(plan)
    yield from _variables(plan)
    yield from _differences(plan)
    yield from _paths(plan)
    yield from _process_limits(plan)
    yield from _privileged(plan, plan.ranks[0])
    if plan.k8s.workload == "statefulset" and is_group(plan) and plan.group.health and not asked_of(plan):
        yield finding(
            "RCC1031",
            "only the head can ask for its own health, so that the ranks of a StatefulSet do not start again together",
            help="let the engine listen on an address that the other nodes reach, or use a LeaderWorkerSet",
            about=("group", "health", "host"),
        )


def too_large(maps: list[ConfigMap]) -> Iterator[Finding]:
    """ConfigMaps that the API server would refuse."""
    for one in maps:
        if one.size > LARGEST:
            yield finding(
                "RCC1029",
                f"the ConfigMap `{one.name}` holds {one.size} bytes, more than {LARGEST}",
                help="mount large files from the nodes, by an absolute path",
            )


def _privileged(plan: Plan, rank: Rank) -> Iterator[Finding]:
    """Told once, of the first device: what it takes is the same for all."""
    for number, device in enumerate(rank.container.devices):
        if opens_as_path(plan, device):
            yield finding(
                "RCC1028",
                "a device makes the engine's container privileged in Kubernetes",
                help="name what a device plug-in hands out as `rdma_resource` under `[k8s]`",
                about=of_container(rank, "devices", number),
            )
            return


def _names(plan: Plan) -> Iterator[Finding]:
    for rank in plan.ranks:
        name = host_name(plan, rank.rank)
        if len(name) > LONGEST_HOST or not HOST_NAME.fullmatch(name):
            yield finding(
                "RCC1022",
                f"no node of Kubernetes is called `{shown(name)}`",
                help=f'name it under `[k8s]`: `node_names = {{ "{shown(rank.node)}" = "..." }}`',
                about=("k8s", "node_names", rank.node) if rank.node in plan.k8s.node_names else of_rank(rank, "node"),
            )
        for key in rank.container.labels:
            if not KEY_NAME.fullmatch(key):
                message = f"`{shown(key)}` cannot be the name of an annotation"
                about = of_container(rank, "labels", key)
                yield finding("RCC1033", message, help="use a shorter name", about=about)


def _variables(plan: Plan) -> Iterator[Finding]:
    for rank in plan.ranks:
        for name, path in texts_of(rank.container, "env", "secrets"):
            if not ENV_NAME.fullmatch(name) or name in RESERVED:
                yield finding(
                    "RCC1021",
                    f"Kubernetes does not take the variable `{shown(name)}`",
                    help="use a name of letters, digits, `-`, `_` and `.`, no digit first, that no controller sets",
                    about=of_container(rank, *path),
                )
    for crew in crews(plan):
        yield from _program(plan, crew)
        for name in own_names(crew):
            if not IDENTIFIER.fullmatch(name) or OF_THE_SHELL.fullmatch(name):
                yield finding(
                    "RCC1021",
                    f"the variable `{shown(name)}` differs between ranks and does not survive the shell that sets it",
                    help="use a name of letters, digits and `_` that no shell uses itself",
                    about=next(of_container(rank, "env", name) for rank in crew.ranks if name in rank.container.env),
                )


def _program(plan: Plan, crew: Crew) -> Iterator[Finding]:
    """What a shell before the engine cannot start; where the plan has one, all targets refuse it."""
    for rank in crew.ranks:
        program = "".join(rank.container.entrypoint[:1])
        if (program and not program.startswith("-")) or rank.container.enter or not process(plan, crew).scripts:
            continue
        about = of_container(rank, "entrypoint", 0)
        if program:
            yield finding(
                "RCC1004",
                f"the program `{shown(program)}` begins with `-`, and a shell stands before it in Kubernetes",
                help="call it by a path: shells read it as an option of `exec`",
                about=about,
            )
        else:
            yield finding(
                "RCC1004",
                "the image's own entrypoint is not known, and ranks that differ have a shell before it in Kubernetes",
                help="write the image's command as `entrypoint`",
                about=about,
            )


def _differences(plan: Plan) -> Iterator[Finding]:
    """Ranks share a template, or two: what it says once must hold for all."""
    head = _said_once(plan.ranks[0].container)
    for rank in plan.ranks[1:]:
        other = _said_once(rank.container)
        for what in sorted(key for key in head if head[key] != other[key]):
            yield finding(
                "RCC1030",
                f"`{what}` of rank {rank.rank} differs from that of rank 0, and ranks share a pod template",
                help="state it alike for all nodes",
                about=of_container(rank, what),
            )
        if rank.container.gpus == "all" and rank.gpus != plan.ranks[0].gpus:
            yield finding(
                "RCC1030",
                f"rank {rank.rank} has {rank.gpus} GPUs, rank 0 {plan.ranks[0].gpus}, and they share a pod template",
                help="use nodes with as many GPUs as each other",
                about=of_rank(rank, "gpus"),
            )


def _said_once(container: Container) -> dict[str, object]:
    names = (
        "image", "secrets", "user", "shm_size", "memory", "network", "ipc", "gpus", "devices", "cap_add", "stop_grace",
    )  # fmt: skip
    mounts = [
        (
            mount.target,
            mount.read_only,
            mount.kind,
            mount.sha256,
            mount.source if isinstance(mount.source, FileRef) else "",
        )
        for mount in container.mounts
    ]
    return {**{name: getattr(container, name) for name in names}, "mounts": mounts}


def _paths(plan: Plan) -> Iterator[Finding]:
    for rank in plan.ranks:
        for number, mount in enumerate(rank.container.mounts):
            about = of_container(rank, "mounts", number)
            if ":" in mount.target:
                yield finding(
                    "RCC1025",
                    f"`{shown(mount.target)}` has a colon, and Kubernetes mounts at no such path",
                    help="mount it somewhere else in the container",
                    about=(*about, "target"),
                )
            if isinstance(mount.source, FileRef):
                if not mount.read_only:
                    yield finding(
                        "RCC1032",
                        f"`{shown(mount.target)}` is a carried file, which Kubernetes mounts read-only",
                        help="state `read_only = true`, or copy it to where the engine may write",
                        about=(*about, "read_only"),
                    )
            elif mount.source.startswith("~/"):
                yield _home(mount.kind, mount.source, (*about, "source"))


def _home(kind: str, path: str, about: Path) -> Finding:
    if kind == "cache":
        return finding(
            "RCC1026",
            f"compile caches in `{shown(path)}` are gone with each pod: Kubernetes knows no home folder on its nodes",
            help="state an absolute `cache_dir` in the cluster file",
            about=about,
        )
    return finding(
        "RCC1027",
        f"`{shown(path)}` is below a home folder, and Kubernetes knows none on its nodes",
        help="state an absolute path",
        about=about,
    )


def _pair(limit: int | tuple[int, int]) -> str:
    """A limit as docker's command line has it."""
    return str(limit) if isinstance(limit, int) else "{}:{}".format(*limit)


def _process_limits(plan: Plan) -> Iterator[Finding]:
    for rank in plan.ranks:
        container = rank.container
        for name, limit in sorted(container.ulimits.items()):
            if name != "memlock" or "IPC_LOCK" not in container.cap_add:
                yield finding(
                    "RCC1023",
                    f"Kubernetes sets no limit `{shown(name)}`; {_pair(limit)} is left to the nodes",
                    help="set it as a default of the nodes' container engine",
                    about=of_container(rank, "ulimits", name),
                )
        if container.oom_score_adj is not None:
            yield finding(
                "RCC1024",
                f"Kubernetes decides itself which process ends when memory runs out, not `oom_score_adj` "
                f"{container.oom_score_adj}",
                about=of_container(rank, "oom_score_adj"),
            )
