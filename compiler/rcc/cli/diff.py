"""`rcc diff`: what changed in meaning between two results, locks or recipes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rcc.cli.compiling import locate, plan_of
from rcc.cli.discover import RECIPE
from rcc.cli.options import cluster_option, from_chosen, json_option, plan_options
from rcc.cli.outcome import OK, USAGE, print_json, refuse, say, show, tell
from rcc.cli.path_type import PATH
from rcc.cli.stdin import read_bytes
from rcc.diagnostic import Finding, Findings, finding, reason
from rcc.emit.changes import Change, changes, plan_changes
from rcc.emit.manifest import NAME, Manifest, read_manifest
from rcc.emit.plans import kept_plan
from rcc.lock.read import read_lock
from rcc.lock.write import lock_json
from rcc.plan.canonical import plain
from rcc.quick import dataclass
from rcc.resolve.model import Options
from rcc.source import whole

DIFFERENT = 1


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed in meaning, and which artifacts of two results did, by their path."""

    meaning: tuple[Change, ...]
    artifacts: tuple[Change, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.meaning or self.artifacts)


Outcome = tuple[Difference | None, Findings]


@click.command()
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@cluster_option
@plan_options
@json_option
def command(a: str, b: str, cluster: str | None, as_json: bool, **chosen: Any) -> int:
    """Say what changed in meaning from A to B: two results, two locks, or two recipes.

    Exit status: 0 the same, 1 different, 2 trouble.
    """
    options = from_chosen(chosen)
    kinds = [_kind(one) for one in (a, b)]
    if kinds[0] != kinds[1]:
        refuse([_not_comparable(a, kinds[0], b, kinds[1])], as_json)
        return USAGE
    compare: dict[str, Callable[[], Outcome]] = {
        "result": lambda: _results(Path(a), Path(b)),
        "lock": lambda: _locks(a, b),
        "recipe": lambda: _recipes(a, b, cluster, options),
    }
    found, findings = compare[kinds[0]]()
    if found is None:
        refuse(findings, as_json)
        return USAGE
    tell(findings)
    if as_json:
        told = {"changes": plain(found.meaning), "artifacts": plain(found.artifacts)}
        print_json({"version": 1, "kind": kinds[0], "same": not found, **told})
    else:
        lines = [*map(_line, found.meaning), *(f"{_sign(one)} {one.where}" for one in found.artifacts)]
        show(lines)
    return DIFFERENT if found else OK


def _kind(name: str) -> str:
    if os.path.isfile(os.path.join(name, NAME)) or os.path.basename(name) == NAME:
        return "result"
    if os.path.isdir(name) and not os.path.isfile(os.path.join(name, RECIPE)):
        return "result"
    return "lock" if name.endswith(".lock") else "recipe"


def _not_comparable(a: str, kind_a: str, b: str, kind_b: str) -> Finding:
    return finding("RCC1118", f"`{a}` is a {kind_a} and `{b}` is a {kind_b}", help="name two of one kind")


def _results(a: Path, b: Path) -> Outcome:
    a, b = (one.parent if one.name == NAME and one.is_file() else one for one in (a, b))
    (old, of_old), (new, of_new) = (_manifest(one) for one in (a, b))
    found = (*of_old, *of_new)
    if old is None or new is None:
        return None, found
    return Difference(_meaning(a, old, b, new), _artifacts(old, new)), found


def _manifest(result: Path) -> tuple[Manifest | None, Findings]:
    path = result / NAME
    try:
        return read_manifest(str(path), path.read_bytes())
    except OSError as error:
        message = f"there is no result at `{result}`: {reason(error)}"
        return None, (finding("RCC1103", message, whole(str(result))),)


def _meaning(a: Path, old: Manifest, b: Path, new: Manifest) -> tuple[Change, ...]:
    """By the plans where the stores still have them, else by what the manifests say."""
    if old.plan == new.plan:
        return ()
    plans = kept_plan(a, old.plan), kept_plan(b, new.plan)
    if plans[0] and plans[1]:
        return plan_changes(plans[0], plans[1])
    lost = " and ".join(f"`{one}`" for one, plan in zip((a, b), plans, strict=True) if plan is None)
    say(f"the plan of {lost} is not kept there: of flags and variables only the artifacts tell")
    known = [{"id": one.id, "closure": one.closure, "unpinned": list(one.unpinned)} for one in (old, new)]
    return changes(known[0], known[1])


def _artifacts(old: Manifest, new: Manifest) -> tuple[Change, ...]:
    hashes = [{one.path: f"{one.sha256} {one.mode}" for one in side.outputs} for side in (old, new)]
    return changes(hashes[0], hashes[1])


def _locks(a: str, b: str) -> Outcome:
    (old, of_old), (new, of_new) = (read_lock(name, read_bytes(name)) for name in (a, b))
    found = (*of_old, *of_new)
    if old is None or new is None:
        return None, found
    return Difference(changes(lock_json(old), lock_json(new))), found


def _recipes(a: str, b: str, cluster: str | None, options: Options) -> Outcome:
    (old, of_old), (new, of_new) = (plan_of(locate(name, cluster), options) for name in (a, b))
    found = (*of_old, *of_new)
    if old is None or new is None:
        return None, found
    return Difference(plan_changes(plain(old.plan), plain(new.plan))), found


def _line(one: Change) -> str:
    ranks = f" (rank {', '.join(str(rank) for rank in one.ranks)})" if one.ranks else ""
    values = " → ".join(_text(value) for value in (one.old, one.new) if value is not None)
    return f"{_sign(one)} {one.where}{ranks}: {values}"


def _sign(one: Change) -> str:
    return "+" if one.old is None else "-" if one.new is None else "~"


def _text(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
