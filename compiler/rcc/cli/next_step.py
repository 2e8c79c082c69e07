"""The command to type after a build."""

from __future__ import annotations

import shlex

from rcc.plan.model import Plan


def next_step(plan: Plan, out: str, targets: tuple[str, ...]) -> str | None:
    """What starts the group from this machine, by the first of the targets that can; None for plug-ins alone."""
    place = shlex.quote(out)
    node = shlex.quote(plan.ranks[0].node)
    alone = plan.group.size == 1
    commands = {
        "shell": f"{place}/shell/{node}/run.sh up" if alone else f"{place}/shell/cluster.sh up",
        "compose": f"docker compose -f {place}/compose/{node}/compose.yaml up -d",
        "systemd": f"sudo {place}/systemd/{node}/install.sh",
        "k8s": f"kubectl apply -k {place}/k8s",
    }
    return next((command for target, command in commands.items() if target in targets), None)
