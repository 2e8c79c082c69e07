"""Units for systemd, one rank a node: pull, stage, engine, and a target over them; `install.sh` puts them there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from jinja2 import Environment

from rcc.diagnostic import Finding, finding, has_errors
from rcc.emit.model import Artifact, Emitted, Loss, Target
from rcc.plan.model import Plan, Rank
from rcc_targets.common.encode import comment, sh
from rcc_targets.common.enter import asserts_script
from rcc_targets.common.files import carried_files, enter_file, node_part
from rcc_targets.common.finding import refused
from rcc_targets.common.render import Encoder, environment
from rcc_targets.common.where import ASSERTS_FILE
from rcc_targets.shell.words import options, platform
from rcc_targets.systemd.units import LIBRARY, Units, command, make_folder, units_of
from rcc_targets.systemd.words import all_words, home_word, line, list_of_units, path_word, word

LONGEST_LINE = 1 << 20
"""Bytes of a line, with those that continue it, beyond which systemd reads none of the file."""

STEPS = "steps.sh"


def emit(plan: Plan) -> Emitted:
    """A folder for each node."""
    findings = list(refused(plan))
    if has_errors(findings):
        return Emitted((), tuple(findings))
    artifacts: list[Artifact] = []
    for rank in plan.ranks:
        units = units_of(plan, rank)
        findings.extend(_too_long(units))
        artifacts.extend(_artifacts(plan, rank, units))
    return Emitted(() if has_errors(findings) else tuple(artifacts), tuple(findings))


def _too_long(units: Units) -> Iterator[Finding]:
    size = len(command(units.run, units.files).encode())
    if size >= LONGEST_LINE:
        yield finding(
            "RCC1041",
            f"the command line of rank {units.rank.rank} is {size} bytes long in its unit, and systemd reads no line"
            f" of {LONGEST_LINE}",
            help="put long values into files and mount those",
        )


def _artifacts(plan: Plan, rank: Rank, units: Units) -> Iterator[Artifact]:
    folder = f"systemd/{rank.node}"
    for name in units.names:
        template = "rcc.target" if name == units.names[-1] else name.removeprefix(f"{units.prefix}-")
        yield _rendered(units, f"{folder}/{name}", template, "unit")
    yield _rendered(units, f"{folder}/install.sh", "install.sh", "script", executable=True)
    yield _rendered(units, f"{folder}/files/{STEPS}", STEPS, "script")
    asserts = asserts_script(rank, plan)
    if asserts is not None:
        yield Artifact(f"{folder}/files/{ASSERTS_FILE}", asserts.encode(), "script", False, rank.node, rank.rank)
    yield from enter_file(plan, rank, f"{folder}/files")
    yield from carried_files(plan, rank, f"{folder}/files")
    yield from node_part(plan, rank, f"{folder}/files")


def _rendered(units: Units, path: str, template: str, kind: str, *, executable: bool = False) -> Artifact:
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
    filters: dict[str, Encoder] = {
        "comment": comment,
        "sh": sh,
        "line": line,
        "word": word,
        "words": all_words,
        "home_word": home_word,
        "path_word": path_word,
        "list_of_units": list_of_units,
        "make_folder": make_folder,
        "command": command,
        "options": options,
    }
    return environment(Path(__file__).parent / "templates", filters)


target = Target(
    "systemd",
    "units, and a script that installs them",
    emit,
    (
        Loss("container.restart", "`Restart=` of the unit in place of docker's: `on-failure` for a single node"),
        Loss("container.secrets", "files below `/rcc/secrets`, from `LoadCredential=`"),
        Loss("group.restart", "by `cluster.sh`; units of different nodes know nothing of each other"),
        Loss("ranks.install_dir", f"`{LIBRARY}/<id>`, since what root runs lies where only root writes"),
    ),
)
