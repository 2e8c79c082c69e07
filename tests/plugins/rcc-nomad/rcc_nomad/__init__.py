"""A target for Nomad: one job of the docker driver a rank, as JSON, which Nomad reads as well as HCL."""

from __future__ import annotations

import json
from typing import Any

from rcc.diagnostic import Finding, finding
from rcc.emit.model import Artifact, Emitted, Loss, Target
from rcc.plan.model import Container, Plan, Rank

LOSSES = (
    Loss("container.healthcheck", "not checked"),
    Loss("container.late_env, container.secrets, staging", "refused: this small target knows no such thing"),
    Loss("container.oom_score_adj", "not set"),
)


def emit(plan: Plan) -> Emitted:
    """A job file a rank, or findings about what Nomad is not told."""
    found = tuple(one for rank in plan.ranks for one in _refused(rank))
    if found:
        return Emitted((), found)
    return Emitted(tuple(_artifact(plan, rank) for rank in plan.ranks))


def _artifact(plan: Plan, rank: Rank) -> Artifact:
    text = json.dumps({"Job": _job(plan, rank)}, indent=2, sort_keys=True) + "\n"
    return Artifact(f"nomad/{rank.node}/job.json", text.encode(), "manifest", node=rank.node, rank=rank.rank)


def _refused(rank: Rank) -> list[Finding]:
    needs = {
        ("container", "late_env"): rank.container.late_env,
        ("container", "secrets"): rank.container.secrets,
        ("staging",): rank.staging,
    }
    message = "rank {} has `{}`, which the target `nomad` cannot express"
    help = "build it for another target with `-t`"
    return [
        finding("RCC1089", message.format(rank.rank, path[-1]), help=help, about=("ranks", rank.rank, *path))
        for path, value in needs.items()
        if value
    ]


def _job(plan: Plan, rank: Rank) -> dict[str, Any]:
    container = rank.container
    task = {
        "Name": "engine",
        "Driver": "docker",
        "Env": dict(container.env),
        "Config": _config(container),
        "KillTimeout": container.stop_grace * 1_000_000_000,
    }
    return {
        "ID": container.name,
        "Meta": {"plan": plan.plan},
        "Constraints": [{"LTarget": "${node.unique.name}", "RTarget": rank.node, "Operand": "="}],
        "TaskGroups": [{"Name": "rank", "Count": 1, "Tasks": [task]}],
    }


def _config(container: Container) -> dict[str, Any]:
    mounts = [
        {"type": "bind", "source": mount.source, "target": mount.target, "readonly": mount.read_only}
        for mount in container.mounts
        if isinstance(mount.source, str)
    ]
    return {
        "image": container.image,
        "entrypoint": list(container.entrypoint),
        "args": list(container.command),
        "network_mode": container.network,
        "ipc_mode": container.ipc,
        "shm_size": container.shm_size or 0,
        "mount": mounts,
        "devices": [{"host_path": device} for device in container.devices],
        "cap_add": list(container.cap_add),
    }


target = Target("nomad", "one job of the docker driver a rank, for `nomad job run`", emit, LOSSES)
