"""Ranks that share a pod template, and what a template can say for all of them."""

from __future__ import annotations

from collections.abc import Iterable

from rcc.plan.model import Plan, Rank
from rcc.quick import dataclass
from rcc_targets.k8s.block import literal

LWS_INDEX = "LWS_WORKER_INDEX"
"""The variable that LeaderWorkerSet puts first into every container: the pod's rank."""

OWN_INDEX = "RCC_RANK"
"""The same for a StatefulSet, from the label that holds the pod's number."""


@dataclass(frozen=True, slots=True)
class Crew:
    """Ranks of one pod template; `index` is the variable that tells them apart, None where there is only one."""

    ranks: tuple[Rank, ...]
    index: str | None

    def word(self, values: Iterable[str | None]) -> str | None:
        """One text of a manifest that gives every rank its value; None where they differ in more than their number."""
        found = list(values)
        if found[0] is not None and all(value == found[0] for value in found):
            return literal(found[0])
        if self.index and found == [str(rank.rank) for rank in self.ranks]:
            return f"$({self.index})"
        return None


def is_group(plan: Plan) -> bool:
    """Whether the ranks are tied to their nodes by volumes: with one rank a node selector does."""
    return len(plan.ranks) > 1


def by_leader(plan: Plan) -> bool:
    """Whether the group is a LeaderWorkerSet."""
    return is_group(plan) and plan.k8s.workload != "statefulset"


def crews(plan: Plan) -> tuple[Crew, ...]:
    """The pod templates: leader and workers, or one for all."""
    if by_leader(plan):
        workers = plan.ranks[1:]
        return Crew(plan.ranks[:1], None), Crew(workers, LWS_INDEX if len(workers) > 1 else None)
    return (Crew(plan.ranks, OWN_INDEX if is_group(plan) else None),)
