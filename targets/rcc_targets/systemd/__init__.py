"""Units for systemd, one rank a node: pull, stage, engine, and a target over them; `install.sh` puts them there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rcc.diagnostic import Finding, finding, has_errors, in_order
from rcc.emit.model import Artifact, Emitted, Loss, Target
from rcc.plan.model import Plan, Rank
from rcc_targets.common.about import of_longest
from rcc_targets.common.finding import refused

if TYPE_CHECKING:
    from jinja2 import Environment

    from rcc_targets.systemd.units import Units

LONGEST_LINE = 1 << 20
"""Bytes of a line, with those that continue it, beyond which systemd reads none of the file."""

STEPS = "steps.sh"

LOSSES = (
    Loss("container.healthcheck", "`docker run` has it as a line for the image's `sh`"),
    Loss("container.restart", "`Restart=` of the unit in place of docker's: `on-failure` for a single node"),
    Loss("container.secrets", "files below `/rcc/secrets`, by `LoadCredential=`"),
    Loss("group.restart", "ranks never restart alone; units of different nodes know nothing of each other"),
    Loss("group.start_order", "each node by itself, when it boots or by hand"),
    Loss("ranks.cache_dir", "below `~` it is root's home: the system's manager starts the engine"),
    Loss("ranks.install_dir", "`/usr/local/lib/rcc/<id>`: what root runs lies where only root writes"),
)


def emit(plan: Plan) -> Emitted:
    """`systemd/<node>/` with units, what they run, and what installs them, for every rank."""
    from rcc_targets.systemd.units import units_of

    findings = in_order(refused(plan))
    if has_errors(findings):
        return Emitted((), findings)
    all_units = [units_of(plan, rank) for rank in plan.ranks]
    findings = in_order((*findings, *(one for units in all_units for one in _too_long(units))))
    if has_errors(findings):
        return Emitted((), findings)
    return Emitted(tuple(artifact for units in all_units for artifact in _node(plan, units.rank, units)), findings)


def _too_long(units: Units) -> Iterator[Finding]:
    size = len(units.run.encode())
    if size >= LONGEST_LINE:
        yield finding(
            "RCC1041",
            f"the command line of rank {units.rank.rank} is {size} bytes long in its unit, and systemd reads no line"
            f" of {LONGEST_LINE}",
            help="put long values into files and mount those",
            about=of_longest(units.rank),
        )


def _node(plan: Plan, rank: Rank, units: Units) -> Iterator[Artifact]:
    from rcc_targets.common.files import asserts_file, carried_files, enter_file, node_part

    folder = f"systemd/{rank.node}"
    for name in units.names:
        template = "rcc.target" if name == units.names[-1] else name.removeprefix(f"{units.prefix}-")
        yield _rendered(units, f"{folder}/{name}", template, "unit")
    yield _rendered(units, f"{folder}/install.sh", "install.sh", "script", executable=True)
    yield _rendered(units, f"{folder}/files/{STEPS}", STEPS, "script")
    for files in (asserts_file, enter_file, carried_files, node_part):
        yield from files(plan, rank, f"{folder}/files")


def _rendered(units: Units, path: str, template: str, kind: str, *, executable: bool = False) -> Artifact:
    from rcc_targets.shell.words import platform
    from rcc_targets.systemd.units import LIBRARY

    text = (
        _environment()
        .get_template(f"{template}.j2")
        .render(
            units=units,
            title=f"Made by rcc for {units.plan.id}, rank {units.rank.rank} on {units.rank.node}; {units.plan.plan}",
            secrets=sorted(units.rank.container.secrets),
            alone=units.plan.group.restart == "self",
            steps=f"{units.files}/{STEPS}",
            platform=tuple(platform(units.rank.container)),
            library=LIBRARY,
        )
    )
    return Artifact(path, text.encode(), kind, executable, units.rank.node, units.rank.rank)


@cache
def _environment() -> Environment:
    from rcc_targets.common.encode import comment, sh
    from rcc_targets.common.render import Encoder, environment
    from rcc_targets.shell.words import inline
    from rcc_targets.systemd import words
    from rcc_targets.systemd.units import make_folder

    filters: dict[str, Encoder] = {
        "comment": comment,
        "sh": sh,
        "line": words.line,
        "word": words.word,
        "words": words.all_words,
        "home_word": words.home_word,
        "path_word": words.path_word,
        "list_of_units": words.list_of_units,
        "make_folder": make_folder,
        "inline": inline,
    }
    return environment(Path(__file__).parent / "templates", filters)


target = Target("systemd", "systemd: units, and a script that installs them", emit, LOSSES)
