"""`rcc build`: a recipe, its cluster and its lock become files that start it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from rcc.cli.compiling import Compiled, compile_recipe, locate
from rcc.cli.granted import granted
from rcc.cli.jobs import jobs_of_settings
from rcc.cli.next_step import next_step
from rcc.cli.options import (
    as_arguments,
    cluster_option,
    from_chosen,
    json_option,
    out_option,
    plan_options,
    target_names,
    target_option,
)
from rcc.cli.outcome import MENDABLE, exit_code, print_json, say, show, tell
from rcc.cli.path_type import PATH
from rcc.cli.render.as_json import records
from rcc.cli.settings import DEFAULT_OUT, Build
from rcc.cli.told import told
from rcc.diagnostic import Findings, has_errors
from rcc.emit.check import check, held_targets
from rcc.emit.publish import Published, publish
from rcc.emit.registry import BUILT_IN
from rcc.quick import dataclass, replace
from rcc.resolve.model import Options


@dataclass(frozen=True, slots=True)
class Mode:
    """What to do with what a build gives: write it (as a plain folder with `copy`), or only compare."""

    copy: bool
    check: bool
    rebuild: bool


@dataclass(frozen=True, slots=True)
class Built:
    """One build's outcome; `published` is None where nothing was to be written, or could not be."""

    job: Build
    compiled: Compiled | None
    published: Published | None
    findings: Findings


@click.command()
@click.argument("recipe", type=PATH, required=False)
@cluster_option
@target_option
@out_option
@click.option("--copy", is_flag=True, help="Write a plain folder in place of a link into the store.")
@click.option("--check", "only_check", is_flag=True, help="Write nothing: name stale, missing and extra files.")
@click.option("--rebuild", is_flag=True, help="Write nothing: build twice in different surroundings and compare.")
@plan_options
@json_option
def command(
    recipe: str | None, cluster: str | None, target: tuple[str, ...], out: str | None,
    copy: bool, only_check: bool, rebuild: bool, as_json: bool, **chosen: Any,
) -> int:  # fmt: skip
    """Compile RECIPE, a file or a folder with a recipe.toml, into what starts it on every node.

    Without RECIPE it builds the [[build]] entries of rcc.toml.
    """
    options, mode = from_chosen(chosen), Mode(copy, only_check, rebuild)
    targets = target_names(target)
    if recipe is not None:
        jobs: tuple[Build, ...] = (Build(recipe, cluster, targets, DEFAULT_OUT if out is None else out),)
    elif cluster or out is not None or targets:
        raise click.UsageError("`-c`, `-t` and `-o` are about one recipe: name it.")
    else:
        jobs, found = jobs_of_settings()
        if has_errors(found):
            return tell(found)
    outcomes = [_one(job, options, mode) for job in jobs]
    if as_json:
        print_json({"version": 1, "builds": [_record(one) for one in outcomes]})
        return max(exit_code(one.findings) for one in outcomes)
    return max(_tell(one, mode, options) for one in outcomes)


def _one(job: Build, options: Options, mode: Mode) -> Built:
    compiled, found = compile_recipe(locate(job.recipe, job.cluster), options, job.targets)
    if compiled is None:
        return Built(job, None, None, found)
    out = Path(job.out)
    if mode.rebuild:
        found = (*found, *_rebuilt(compiled, options))
    if mode.check:
        found = (*found, *check(compiled.bundle, out))
    if mode.check or mode.rebuild:
        return Built(job, compiled, None, found)
    wait = f"waiting for another build in {out.parent}"
    published, more = publish(compiled.bundle, compiled.planned.plan, out, copy=mode.copy, waiting=lambda: say(wait))
    return Built(job, compiled, published, (*found, *more))


def _rebuilt(compiled: Compiled, options: Options) -> Findings:
    from rcc.cli.rebuild import rebuild

    return rebuild(compiled, options)


def _tell(one: Built, mode: Mode, options: Options) -> int:
    code = tell(one.findings)
    if one.compiled and one.published:
        show(told(one.compiled, one.published))
    elif code == MENDABLE and mode.check and one.compiled:
        _tell_what_to_do(one.job, one.compiled, options)
    elif code == 0 and one.compiled:
        checks = " and ".join(name for name, on in (("up to date", mode.check), ("reproducible", mode.rebuild)) if on)
        show([f"{one.job.out if mode.check else one.job.recipe} is {checks}"])
    return code


def _tell_what_to_do(job: Build, compiled: Compiled, options: Options) -> None:
    """Building a part of the targets that a result was built of would take the others away."""
    held = held_targets(Path(job.out))
    if held is None or set(compiled.targets) >= set(held):
        say(f"to bring it up to date: {_command(job, options)}")
        return
    whole = replace(job, targets=() if held == BUILT_IN else held)
    say(f"to check all that it was built of: {_command(whole, options)} --check")


def _command(job: Build, options: Options) -> str:
    """What to type to do a build again."""
    cluster = ["-c", job.cluster] if job.cluster is not None else []
    targets = [word for name in job.targets for word in ("-t", name)]
    out = ["-o", job.out] if job.out != DEFAULT_OUT else []
    return shlex.join(["rcc", "build", job.recipe, *cluster, *targets, *out, *as_arguments(options)])


def _record(one: Built) -> dict[str, Any]:
    record: dict[str, Any] = {"recipe": one.job.recipe, "out": one.job.out, "findings": records(one.findings)}
    plan = one.compiled.planned.plan if one.compiled else None
    return {
        **record,
        "id": plan.id if plan else None,
        "plan": plan.plan if plan else None,
        "build": one.compiled.bundle.build if one.compiled else None,
        "store": str(one.published.place) if one.published else None,
        "changed": one.published.changed if one.published else None,
        "granted": granted(plan) if plan else None,
        "unpinned": [{"kind": x.kind, "id": x.id, "why": x.why} for x in plan.unpinned] if plan else None,
        "next": next_step(plan, one.job.out, one.compiled.targets) if one.compiled and plan and one.published else None,
    }
