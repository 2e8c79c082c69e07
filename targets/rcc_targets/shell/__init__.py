"""Plain `sh` and `docker`: a script for each node, and one that does the same on all of them over ssh."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rcc.diagnostic import Finding, finding, has_errors, in_order
from rcc.emit.model import Artifact, Emitted, Loss, Target
from rcc.plan.model import Plan, Rank
from rcc_targets.common.about import of_rank
from rcc_targets.common.finding import refused

if TYPE_CHECKING:
    from jinja2 import Environment

LOSSES = (
    Loss("group.restart", "ranks never restart alone; `cluster.sh up` starts a group again as one"),
    Loss("container.healthcheck", "`docker run` has it as a line for the image's `sh`"),
)


def emit(plan: Plan) -> Emitted:
    """`shell/<node>/run.sh` with its files for every rank, and `shell/cluster.sh`."""
    findings = in_order((*refused(plan), *_not_reached(plan)))
    if has_errors(findings):
        return Emitted((), findings)
    artifacts = [artifact for rank in plan.ranks for artifact in _node(plan, rank)]
    return Emitted((*artifacts, _cluster(plan)), findings)


def _not_reached(plan: Plan) -> Iterator[Finding]:
    """A node without a login is the machine that `cluster.sh` runs on, of which there is one."""
    here = [rank for rank in plan.ranks if rank.ssh is None]
    for rank in here[1:]:
        yield finding(
            "RCC1051",
            f"nodes `{here[0].node}` and `{rank.node}` have no login, so that both are the machine of `cluster.sh`",
            help="add `host` or `ssh` to all nodes but the one that it runs on",
            about=of_rank(rank, "ssh"),
        )


def _node(plan: Plan, rank: Rank) -> Iterator[Artifact]:
    from rcc_targets.common.files import asserts_file, carried_files, enter_file, node_part

    folder = f"shell/{rank.node}"
    yield Artifact(f"{folder}/run.sh", _run(plan, rank).encode(), "script", True, rank.node, rank.rank)
    for files in (enter_file, asserts_file, carried_files, node_part):
        yield from files(plan, rank, f"{folder}/files")


def _run(plan: Plan, rank: Rank) -> str:
    from rcc_targets.common.health import HEALTH_PROGRAM, health_url
    from rcc_targets.shell.words import groups, platform

    check = rank.container.healthcheck
    return (
        _environment()
        .get_template("run.sh.j2")
        .render(
            plan=plan,
            rank=rank,
            groups=groups(plan, rank),
            platform=tuple(platform(rank.container)),
            secrets=rank.container.secrets,
            cache=any(mount.kind == "cache" for mount in rank.container.mounts),
            health=check,
            health_program=HEALTH_PROGRAM,
            health_url=health_url(check) if check else None,
        )
    )


def _cluster(plan: Plan) -> Artifact:
    from rcc_targets.shell.cluster import cluster_values

    text = _environment().get_template("cluster.sh.j2").render(**cluster_values(plan))
    return Artifact("shell/cluster.sh", text.encode(), "script", True)


@cache
def _environment() -> Environment:
    from rcc_targets.common.encode import comment, identifier, sh, sh_words
    from rcc_targets.common.render import Encoder, environment
    from rcc_targets.shell.words import home, inline, options

    encoders: dict[str, Encoder] = {
        "sh": sh,
        "sh_words": sh_words,
        "comment": comment,
        "identifier": identifier,
        "home": home,
        "inline": inline,
        "options": options,
    }
    return environment(Path(__file__).parent, encoders)


target = Target("shell", "POSIX sh and docker: run.sh for each node, cluster.sh for all of them", emit, LOSSES)
