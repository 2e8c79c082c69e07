"""`rcc explain`: where a value comes from, what it overrode, and which artifacts it reaches."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

import click

from rcc.cli.compiling import Planned, locate, plan_of
from rcc.cli.options import cluster_option, from_chosen, json_option, plan_options, recipe_argument
from rcc.cli.outcome import USAGE, print_json, refuse, say, show, tell
from rcc.emit.reach import reached
from rcc.emit.registry import BUILT_IN, choose
from rcc.nearest import meant_name
from rcc.pipeline import make_resolved
from rcc.plan.canonical import plain
from rcc.resolve.model import Options, Origin
from rcc.resolve.provenance import Trace, traces


@click.command()
@recipe_argument
@click.argument("key", required=False)
@cluster_option
@plan_options
@json_option
def command(recipe: str, key: str | None, cluster: str | None, as_json: bool, **chosen: Any) -> int:
    """Say where the values of RECIPE come from: file and line, and what they overrode.

    With a KEY, as `port` or `env.NCCL_DEBUG`, also which artifacts it reaches.
    """
    options = from_chosen(chosen)
    planned, found = plan_of(locate(recipe, cluster), options)
    if planned is None:
        return refuse(found, as_json)
    code = tell(found)
    known = _traces(planned, options)
    wanted = [one for one in known if key is None or one.key in (key, f"env.{key}")]
    if not wanted:
        say(f"nothing has the key `{key}`{_instead(str(key), list(dict.fromkeys(one.key for one in known)), recipe)}")
        return USAGE
    reaches = _reaches(planned, wanted) if key is not None else None
    if as_json:
        print_json({"version": 1, "values": [_record(one) for one in wanted], "reaches": reaches})
    else:
        show(line for one in wanted for line in _lines(one))
        _tell_reach(reaches)
    return code


def _instead(key: str, known: list[str], recipe: str) -> str:
    """What to ask for in place of a key that nothing has."""
    below = [f"`{one}`" for one in known if one.startswith(f"{key}.")]
    if below:
        return f": name one below it, {', '.join(below)}"
    near = meant_name(key, known)
    return f"; did you mean `{near}`?" if near else f"; to see all keys: rcc explain {shlex.quote(recipe)}"


def _traces(planned: Planned, options: Options) -> tuple[Trace, ...]:
    resolved, _ = make_resolved(planned.loaded, options)
    return traces(planned.loaded.recipe, planned.loaded.cluster, options, resolved) if resolved else ()


def _reaches(planned: Planned, wanted: list[Trace]) -> list[str]:
    targets, _ = choose(BUILT_IN)
    return sorted({path for one in wanted for path in reached(planned.plan, one.key, one.ranks, targets)})


def _lines(one: Trace) -> Iterator[str]:
    yield f"{one.key} = {_text(one)}"
    yield f"  from      {_told(one.origin)}"
    yield f"  ranks     {', '.join(str(rank) for rank in one.ranks)}"
    for value, origin in one.overrode:
        yield f"  overrode  {value}, from {_told(origin)}"


def _text(one: Trace) -> str:
    """A value in a line for people: words as a shell has them, other lists with commas."""
    match plain(one.value):
        case list(items):
            return (" " if one.key in ("args", "entrypoint") else ", ").join(map(_item, items))
        case dict(table):
            return ", ".join(f"{key} {_item(value)}" for key, value in table.items())
        case value:
            return _item(value)


def _item(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool | list | dict) else str(value)


def _tell_reach(paths: list[str] | None) -> None:
    if paths is None:
        return
    first, *others = paths or ["no artifact by itself"]
    show([f"  reaches   {first}", *(f"            {path}" for path in others)])


def _told(origin: Origin) -> str:
    place = origin.find()
    return f"{origin.what}, {place}" if place else origin.what


def _record(one: Trace) -> dict[str, Any]:
    return {
        "key": one.key,
        "value": plain(one.value),
        "ranks": list(one.ranks),
        "origin": _origin(one.origin),
        "overrode": [{"value": value, **_origin(origin)} for value, origin in one.overrode],
    }


def _origin(origin: Origin) -> dict[str, Any]:
    place = origin.find()
    line, column = place.line_column if place else (None, None)
    return {"what": origin.what, "file": place.source.name if place else None, "line": line, "column": column}
