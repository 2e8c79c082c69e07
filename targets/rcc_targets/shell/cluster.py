"""What `cluster.sh` knows of its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rcc.plan.model import Plan, Rank
from rcc.quick import dataclass
from rcc_targets.common.health import HEALTH_PROGRAM, health_url

SETTLE = 60
"""Seconds that a group without a start period gets."""


@dataclass(frozen=True, slots=True)
class Node:
    """A rank's node and how ssh reaches it; an empty `login` is this machine."""

    rank: int
    name: str
    login: str
    port: str
    install: str


def cluster_values(plan: Plan) -> Mapping[str, Any]:
    """Values of the template."""
    health = plan.group.health
    check = health.check if health else None
    return {
        "plan": plan,
        "nodes": tuple(map(_node, plan.ranks)),
        "order": plan.group.start_order,
        "head": next(rank.rank for rank in plan.ranks if rank.head),
        "url": health_url(health.check, health.host) if health and health.host else "",
        "timeout": check.timeout if check else SETTLE,
        "patience": check.start_period + check.retries * check.interval if check else SETTLE,
        "program": HEALTH_PROGRAM,
    }


def _node(rank: Rank) -> Node:
    login, port = rank.ssh or "", ""
    if login.count(":") == 1:  # more of them are an IPv6 address
        login, port = login.split(":")
    return Node(rank.rank, rank.node, login, port, rank.install_dir)
