"""`rcc grade`: can I run what you measured?"""

from __future__ import annotations

import os
from typing import Any

import click

from rcc.cli.compiling import locate, plan_of
from rcc.cli.options import cluster_option, from_chosen, json_option, plan_options, recipe_argument
from rcc.cli.outcome import print_json, refuse, say, show, tell
from rcc.cli.path_type import PATH
from rcc.emit.grade import Grade, badge, grade
from rcc.fetch.save import replace_file
from rcc.plan.canonical import plain


def _svg(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The file is replaced without a question, so a recipe that is named by mistake must not be taken for it."""
    if value is None or value.endswith(".svg"):
        return value
    raise click.BadParameter("it ends in `.svg`")


@click.command()
@recipe_argument
@cluster_option
@plan_options
@click.option(
    "--badge", "badge_file", type=PATH, metavar="FILE.svg", callback=_svg, help="Write the grade as a picture."
)
@json_option
def command(recipe: str, cluster: str | None, badge_file: str | None, as_json: bool, **chosen: Any) -> int:
    """Grade how much of RECIPE is pinned, A to F, with the next step for each thing that is not."""
    inputs = locate(recipe, cluster)
    planned, found = plan_of(inputs, from_chosen(chosen))
    if planned is None:
        return refuse(found, as_json)
    code = tell(found)
    given = grade(planned.plan, inputs.recipe)
    if badge_file is not None:
        replace_file(os.path.realpath(badge_file), badge(given.letter).encode())
        say(f"wrote {badge_file}")
    if as_json:
        print_json({"version": 1, "id": planned.plan.id, "meaning": given.meaning, **plain(given)})
    else:
        show(_lines(given))
    return code


def _lines(given: Grade) -> list[str]:
    lines = [f"{given.letter}: {given.meaning}"]
    lines += [f"  pinned      {line}" for line in given.pinned]
    for step in given.steps:
        lines += [f"  not pinned  {step.kind} {step.id}: {step.why}", f"              {step.help}"]
    return lines
