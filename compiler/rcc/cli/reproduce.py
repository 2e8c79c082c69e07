"""`rcc reproduce`: a report built again under its id and options, and compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from rcc import __version__
from rcc.cli.compiling import Compiled, compile_recipe
from rcc.cli.discover import present_lock
from rcc.cli.frozen.record import Record, read_record
from rcc.cli.options import json_option
from rcc.cli.outcome import USAGE, exit_code, print_json, refuse, show, tell
from rcc.cli.path_type import PATH
from rcc.cli.render.as_json import records
from rcc.diagnostic import Finding, Findings, finding, has_errors
from rcc.emit.manifest import NAME, read_manifest
from rcc.pipeline import Inputs
from rcc.resolve.model import Options
from rcc.source import whole


@click.command()
@click.argument("report", type=PATH)
@json_option
def command(report: str, as_json: bool) -> int:
    """Build REPORT, a folder that `rcc freeze` made, again and compare the artifacts.

    By another version of rcc, which may write them in another way, the plans are compared.
    """
    folder = Path(report)
    record, found = read_record(folder)
    if record is None:
        refuse(found, as_json)
        return USAGE
    compiled, found = _rebuilt(folder, record)
    if compiled is not None:
        found = (*found, *_judged(folder, record, compiled))
    if as_json:
        same = compiled is not None and compiled.bundle.build == record.build
        told = {"report": report, "rcc": record.rcc, "same_build": same, "same_plan": _same_plan(record, compiled)}
        print_json({"version": 1, **told, "reproduced": not has_errors(found), "findings": records(found)})
        return exit_code(found)
    code = tell(found)
    if code == 0:
        outcome = "the same artifacts" if compiled and compiled.bundle.build == record.build else "the same plan"
        show([f"{report}: {outcome}"])
    return code


def _rebuilt(folder: Path, record: Record) -> tuple[Compiled | None, Findings]:
    recipe = str(folder / record.recipe)
    cluster = str(folder / record.cluster) if record.cluster else None
    kept = record.options
    options = Options(
        nodes=tuple(kept["nodes"]) if kept["nodes"] is not None else None,
        topology=kept["topology"],
        hf_cache=kept["hf_cache"],
        id=record.id,
        k8s_workload=kept["k8s_workload"],
        frozen=kept["frozen"],
    )
    return compile_recipe(Inputs(recipe, cluster, present_lock(recipe)), options, tuple(kept["targets"]))


def _same_plan(record: Record, compiled: Compiled | None) -> bool:
    return compiled is not None and compiled.planned.plan.plan == record.plan


def _judged(folder: Path, record: Record, compiled: Compiled) -> Iterator[Finding]:
    if compiled.bundle.build == record.build:
        return
    place = whole(str(folder))
    if record.rcc == __version__:
        notes = _what_differs(folder, compiled)
        yield finding("RCC1113", "the artifacts come out differently", place, notes=notes)
        return
    message = f"the report is from rcc {record.rcc}, and this is {__version__}: plans are compared, not artifacts"
    yield finding("RCC1114", message, place)
    if not _same_plan(record, compiled):
        yield finding("RCC1113", "the plan comes out differently", place, help=f"use rcc {record.rcc}")


def _what_differs(folder: Path, compiled: Compiled) -> list[str]:
    """The artifacts that the report's manifest has in another way, as lines."""
    try:
        former, _ = read_manifest(NAME, (folder / NAME).read_bytes())
    except OSError:
        return []
    now, _ = read_manifest(NAME, compiled.bundle.manifest)
    if former is None or now is None:
        return []
    old, new = ({one.path: (one.sha256, one.mode) for one in side.outputs} for side in (former, now))
    return [f"`{path}`" for path in sorted(old.keys() | new.keys()) if old.get(path) != new.get(path)]
