"""The command to type after a build."""

from __future__ import annotations

import shlex

from rcc.plan.model import Plan


def next_step(plan: Plan, out: str, targets: tuple[str, ...]) -> str | None:
    """What starts the group from this machine, by the first of the targets that can; None for plug-ins alone.

    Where that can only be done on the nodes, it is said in words.
    """
    place = shlex.quote(out)
    node = shlex.quote(plan.ranks[0].node)
    here = plan.group.size == 1 and plan.ranks[0].ssh is None
    commands = {
        "shell": f"{place}/shell/{node}/run.sh up" if here else f"{place}/shell/cluster.sh up",
        "compose": f"docker compose -f {place}/compose/{node}/compose.yaml up -d"
        if here
        else f"on each node, in its folder of {place}/compose: docker compose up -d",
        "systemd": f"sudo {place}/systemd/{node}/install.sh"
        if here
        else f"on each node, in its folder of {place}/systemd: sudo ./install.sh",
        "k8s": f"kubectl apply --server-side -k {place}/k8s",
    }
    return next((command for target, command in commands.items() if target in targets), None)
