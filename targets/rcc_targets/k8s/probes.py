"""Health, asked by the kubelet."""

from __future__ import annotations

from math import ceil
from typing import Any

from rcc.plan.model import Healthcheck, Plan
from rcc_targets.k8s.crew import Crew, by_leader, is_group

PATIENCE = 300
"""Seconds that the head may fail before its container is started anew, which takes the group down: a hiccup of the
network must not cost a load of half a terabyte."""

START_PERIOD = 10


def probes(plan: Plan, crew: Crew) -> dict[str, Any]:
    """The probes of a crew's engine.

    Only the head's answer means something. Workers of a LeaderWorkerSet have no probe, since the group is made anew
    with the head; ranks of a StatefulSet all ask the head, so that they start again together.
    """
    host = asked_of(plan)
    if plan.group.health is None or host is None or (by_leader(plan) and not crew.ranks[0].head):
        return {}
    return _probes(plan.group.health.check, host)


def asked_of(plan: Plan) -> str | None:
    """The address that probes ask; None where those who would ask cannot reach it."""
    health = plan.group.health
    if health is None:
        return None
    return health.host if is_group(plan) and not by_leader(plan) else health.check.address


def _probes(check: Healthcheck, host: str) -> dict[str, Any]:
    action = {"httpGet": {"host": host, "path": check.path, "port": check.port}}
    usual = {"periodSeconds": check.interval, "timeoutSeconds": check.timeout}
    start = {"periodSeconds": START_PERIOD, "timeoutSeconds": check.timeout}
    return {
        "startupProbe": {**action, "failureThreshold": max(1, ceil(check.start_period / START_PERIOD)), **start},
        "readinessProbe": {**action, "failureThreshold": check.retries, **usual},
        "livenessProbe": {**action, "failureThreshold": max(check.retries, ceil(PATIENCE / check.interval)), **usual},
    }
