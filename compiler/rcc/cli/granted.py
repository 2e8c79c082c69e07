"""What a plan lets its containers do to the machine that they run on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rcc.plan.model import Container, Mount, Plan


def granted(plan: Plan) -> dict[str, Any]:
    """Everything that some rank is given, sorted: the same for programs and for people."""
    containers = [rank.container for rank in plan.ranks]
    return {
        "network": _words(one.network for one in containers),
        "ipc": _words(one.ipc for one in containers),
        "gpus": _words(str(one.gpus) for one in containers if one.gpus),
        "devices": _words(device for one in containers for device in one.devices),
        "capabilities": _words(name for one in containers for name in one.cap_add),
        "secrets": _words(name for one in containers for name in one.secrets),
        "mounts": [
            {"source": source, "target": target, "read_only": read_only}
            for source, target, read_only in sorted({_mount(mount) for one in containers for mount in _of_host(one)})
        ],
    }


def granted_lines(plan: Plan) -> list[str]:
    """The same in a few lines."""
    what = granted(plan)
    of_host = [f"host {name}" for name in ("network", "ipc") if "host" in what[name]]
    named = {
        "GPUs": what["gpus"],
        "devices": what["devices"],
        "capabilities": what["capabilities"],
        "secrets": what["secrets"],
    }
    listed = [f"{name} {', '.join(values)}" for name, values in named.items() if values]
    lines = ["; ".join([*of_host, *listed])] if of_host or listed else []
    mounts = [f"{one['source']} as {one['target']}{'' if one['read_only'] else ', writable'}" for one in what["mounts"]]
    return [*lines, *mounts]


def _of_host(container: Container) -> Iterable[Mount]:
    return (mount for mount in container.mounts if isinstance(mount.source, str))


def _mount(mount: Mount) -> tuple[str, str, bool]:
    return str(mount.source), mount.target, mount.read_only


def _words(values: Iterable[str]) -> list[str]:
    return sorted(set(values))
