"""`rcc plan`: what every target must say, and windows on the passes before it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any

import click

from rcc.cli.compiling import locate, plan_of
from rcc.cli.files import Disk
from rcc.cli.options import cluster_option, from_chosen, json_option, plan_options, recipe_argument
from rcc.cli.outcome import print_json, refuse, show, tell
from rcc.diagnostic import Findings, has_errors
from rcc.pipeline import Inputs, load, make_resolved
from rcc.plan.canonical import plain
from rcc.plan.model import Plan, Rank
from rcc.recipe.read import read_recipe
from rcc.resolve.model import Options, Origin


@click.command()
@recipe_argument
@cluster_option
@plan_options
@click.option(
    "--show", "window", type=click.Choice(["document", "recipe", "resolved"]), help="An earlier pass, as JSON."
)
@json_option
def command(recipe: str, cluster: str | None, window: str | None, as_json: bool, **chosen: Any) -> int:
    """Show what every target must say about RECIPE."""
    inputs, options = locate(recipe, cluster), from_chosen(chosen)
    if window is not None:
        return _look(window, inputs, options)
    planned, found = plan_of(inputs, options)
    if planned is None:
        return refuse(found, as_json)
    if as_json:
        print_json(plain(planned.plan))
    else:
        show(_outline(planned.plan))
    return tell(found)


def _look(window: str, inputs: Inputs, options: Options) -> int:
    value, found = _resolved(inputs, options) if window == "resolved" else _recipe(window, inputs, options)
    if value is not None:
        print_json(_shown(value))
    return tell(found)


def _recipe(window: str, inputs: Inputs, options: Options) -> tuple[Any, Findings]:
    """A recipe as TOML has it, or as it was read; neither needs a cluster."""
    recipe, found = read_recipe(inputs.recipe, Disk().read, options.id)
    if recipe is None:
        return None, found
    return (recipe.layers.values if window == "document" else recipe.recipe), found


def _resolved(inputs: Inputs, options: Options) -> tuple[Any, Findings]:
    loaded, found = load(inputs, options, Disk())
    if loaded is None:
        return None, found
    resolved, more = make_resolved(loaded, options)
    return (None if has_errors(more) else resolved), (*found, *more)


def _shown(value: Any) -> Any:
    """Any pass's value as JSON: origins as words and places; bytes and functions left out."""
    if isinstance(value, Origin):
        return {"what": value.what, "place": str(value.find() or "") or None}
    if is_dataclass(value) and not isinstance(value, type):
        shown = {one.name: getattr(value, one.name) for one in fields(value)}
        return {name: _shown(one) for name, one in shown.items() if not (callable(one) or isinstance(one, bytes))}
    if isinstance(value, Mapping):
        return {str(key): _shown(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_shown(one) for one in value]
    return value if isinstance(value, str | int | bool | None) or _is_finite(value) else str(value)


def _is_finite(value: object) -> bool:
    return isinstance(value, float) and isfinite(value)


def _outline(plan: Plan) -> Iterator[str]:
    yield f"{plan.id}  {plan.plan}"
    yield f"  image  {plan.image.reference}  {plan.image.digest or 'not locked'}"
    for model in plan.models:
        yield f"  {model.id}  {model.repo}  {model.commit or 'no commit'}"
    for rank in plan.ranks:
        yield from _rank(rank)


def _rank(rank: Rank) -> Iterator[str]:
    container = rank.container
    yield ""
    yield f"rank {rank.rank} on {rank.node}"
    own = () if container.entrypoint else ("<the image's own>",)
    yield f"  argv   {' '.join((*own, *map(shlex.quote, (*container.entrypoint, *container.command))))}"
    for name, value in sorted(container.env.items()):
        yield f"  env    {name}={shlex.quote(value)}"
    for name, late in sorted(container.late_env.items()):
        yield f"  env    {name} from {late}, on the node"
    for name in container.secrets:
        yield f"  env    {name}, a secret of the node's"
    for mount in container.mounts:
        source = mount.source if isinstance(mount.source, str) else f"{mount.source.file}, carried"
        yield f"  mount  {source} as {mount.target}{'' if mount.read_only else ', writable'}"
    for block in rank.staging:
        yield f"  stage  {block.id} in {block.dst}"
