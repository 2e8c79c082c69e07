"""The known name that a mistyped one is nearest to."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable


def nearest_name(name: str, known: Iterable[str], limit: int | None = None) -> str | None:
    """The nearest of `known`, the first in order of spelling; at most `limit` edits away.

    The limit is a third of the name's length, and at least one, unless it is given.
    """
    limit = max(1, len(name) // 3) if limit is None else limit
    distances = ((_distance(name.lower(), one.lower(), limit), one) for one in known)
    best = min(distances, default=(limit + 1, ""))
    return best[1] if best[0] <= limit else None


def meant_name(name: str, known: Collection[str]) -> str | None:
    """The known name of a key that is meant by one that is mistyped, shortened, or called so elsewhere."""
    said = _words(name)
    for one in _ELSEWHERE.get("_".join(said), "").split():
        if one in known:
            return one
    near = nearest_name(name, known)
    if near is not None or not said:
        return near
    words = {one: _words(one) for one in known}
    holding = [one for one in known if "".join(words[one]) == "".join(said)]
    holding = holding or [one for one in known if set(said) <= set(words[one])]
    return holding[0] if len(holding) == 1 else None


def _words(name: str) -> list[str]:
    """The words of a name, however they are joined: `shm-size`, `shmSize`, `shm_size`."""
    return [one.lower() for one in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)]


# What keys and template names are called in compose files, manifests and flags; the first known one is meant.
_ELSEWHERE = {
    "address": "node.host listen host",
    "arch": "node.arch",
    "arguments": "args",
    "base": "extends",
    "bases": "extends",
    "bind": "listen",
    "branch": "revision",
    "capabilities": "cap_add",
    "cmd": "args",
    "command": "args",
    "commit": "model.commit revision",
    "destination": "container dst",
    "dp": "data_parallel_size",
    "dp_size": "data_parallel_size",
    "dst": "container",
    "environment": "env",
    "envs": "env",
    "fabric": "node.fabric",
    "flags": "args",
    "from": "extends",
    "hca": "node.hca",
    "host": "node.host listen",
    "hosts": "nodes required_nodes",
    "ifname": "node.ifname",
    "image": "docker_image",
    "ip": "node.host host",
    "limits": "ulimits",
    "machines": "nodes required_nodes",
    "mem_limit": "memory",
    "mounts": "extra_mounts",
    "name": "recipe.name",
    "nodes": "required_nodes nnodes",
    "num_nodes": "required_nodes nnodes",
    "nnodes": "required_nodes",
    "path": "model.path container",
    "pp": "pipeline_parallel_size",
    "pp_size": "pipeline_parallel_size",
    "replicas": "required_nodes",
    "repo": "model.repo model",
    "ro": "read_only",
    "source": "host src",
    "src": "host",
    "stop_grace_period": "stop_grace",
    "tag": "revision",
    "target": "container dst",
    "title": "name",
    "tp": "tensor_parallel_size",
    "tp_size": "tensor_parallel_size",
    "volumes": "extra_mounts",
    "weights": "model",
    "world_size": "required_nodes nnodes",
}


def _distance(first: str, second: str, limit: int) -> int:
    """Edits between two words, a swap of neighbours counted once; anything over `limit` is `limit + 1`."""
    if abs(len(first) - len(second)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        above, row = row, [i]
        for j, b in enumerate(second, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
        before = above
    return row[-1]
