"""Docker Compose: a project for each rank, complete in itself; `docker compose up -d` on the node is all there is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rcc.diagnostic import has_errors, in_order
from rcc.emit.model import Artifact, Emitted, Loss, Target
from rcc.plan.model import Plan, Rank
from rcc_targets.common.finding import refused

if TYPE_CHECKING:
    from jinja2 import Environment

LOSSES = (
    Loss("group.restart", "ranks never restart alone; nothing starts a group again as one"),
    Loss("group.start_order", "each node starts its own rank; a rank waits for the others by itself"),
    Loss("group", "`up` of another build stops the former one before the new one is checked"),
    Loss("ranks.ports", "asked with each `up`, as is free memory; not where docker itself starts the engine again"),
    Loss("ranks.gpus", "whether another process uses the GPU is not asked before a start"),
    Loss("ranks.hf_cache", "a shared folder that does not answer is not noticed before docker waits for it"),
    Loss("ranks.install_dir", "nothing is installed: the folder with `compose.yaml` stays where it is put"),
    Loss("ranks.unified_memory", "the page cache is not dropped before a start"),
    Loss("container.secrets", "files are read from `~/.config/rcc/secrets`; `RCC_SECRETS` names no other folder"),
    Loss("container.healthcheck", "compose has it as a line for the image's `sh`"),
)


def emit(plan: Plan) -> Emitted:
    """`compose/<node>/compose.yaml` with its files for every rank."""
    from rcc_targets.compose.limits import refused_here

    findings = in_order((*refused(plan), *refused_here(plan)))
    if has_errors(findings):
        return Emitted((), findings)
    return Emitted(tuple(artifact for rank in plan.ranks for artifact in _node(plan, rank)), findings)


def _node(plan: Plan, rank: Rank) -> Iterator[Artifact]:
    from rcc_targets.common.files import carried_files, enter_file, node_part, prepare_file

    folder = f"compose/{rank.node}"
    yield Artifact(f"{folder}/compose.yaml", _compose(plan, rank).encode(), "compose", False, rank.node, rank.rank)
    for files in (prepare_file, enter_file, carried_files):
        yield from files(plan, rank, f"{folder}/files")
    if rank.staging:
        yield from node_part(plan, rank, f"{folder}/files")


def _compose(plan: Plan, rank: Rank) -> str:
    from rcc_targets.common.health import health_command
    from rcc_targets.common.images import staging_image
    from rcc_targets.compose import volumes

    container, check = rank.container, rank.container.healthcheck
    return (
        _environment()
        .get_template("compose.yaml.j2")
        .render(
            plan=plan,
            rank=rank,
            container=container,
            labels=dict(sorted({**container.labels, "dev.rcc.plan": plan.plan, "dev.rcc.target": "compose"}.items())),
            staging_image=staging_image(plan, rank),
            of_prepare=tuple(volumes.of_prepare(rank)),
            of_stage=tuple(volumes.of_stage(rank)),
            of_engine=tuple(volumes.of_engine(rank)),
            is_told=volumes.is_told(rank),
            check=check,
            health_command=health_command(check) if check else None,
            entrypoint=(*(container.enter or ()), *container.entrypoint),
            command=container.command,
        )
    )


@cache
def _environment() -> Environment:
    from rcc_targets.common.encode import comment
    from rcc_targets.common.render import environment
    from rcc_targets.compose.yaml import key, value, values

    return environment(Path(__file__).parent, {"comment": comment, "key": key, "value": value, "values": values})


target = Target("compose", "Docker Compose: one self-contained project per rank", emit, LOSSES)
