"""What a build says when it is done: where it is, what it grants, what is not pinned, and what to type next."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from rcc.cli.compiling import Compiled
from rcc.cli.granted import granted_lines
from rcc.cli.next_step import next_step
from rcc.emit.publish import Published

LOCKABLE = ("image", "model", "staging")
SHORT = len("sha256:") + 12


def told(compiled: Compiled, published: Published) -> list[str]:
    """The lines."""
    plan = compiled.planned.plan
    news = "built" if published.changed else "unchanged:"
    ranks = "1 rank" if plan.group.size == 1 else f"{plan.group.size} ranks"
    lines = [f"{news} {plan.id}, {ranks}, {compiled.bundle.build[:SHORT]}, in {published.out}"]
    lines += _block("granted", granted_lines(plan))
    lines += _block("not pinned", _unpinned(compiled))
    step = next_step(plan, str(published.out), compiled.targets)
    lines += _block("next", [step] if step else [])
    return lines


def _unpinned(compiled: Compiled) -> Iterator[str]:
    plan = compiled.planned.plan
    yield from (f"{one.kind} {one.id}: {one.why}" for one in plan.unpinned)
    if not plan.locked and any(one.kind in LOCKABLE for one in plan.unpinned):
        yield f"to pin what a lock can: rcc lock {shlex.quote(compiled.planned.inputs.recipe)}"


def _block(title: str, lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield f"  {title if number == 0 else '':<10}  {line}"
