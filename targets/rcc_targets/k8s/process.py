"""argv and environment of a template's engine, and the script that adds what a rank has of its own."""

from __future__ import annotations

from rcc.plan.model import Plan, Rank
from rcc.quick import dataclass
from rcc_targets.common.encode import comment, sh
from rcc_targets.common.enter import enter_script
from rcc_targets.common.where import ENTER
from rcc_targets.k8s.crew import Crew

INTERPRETER = "#!/bin/sh\n"
NOTHING = INTERPRETER + 'exec "$@"\n'


@dataclass(frozen=True, slots=True)
class Process:
    """What a template says (in the kubelet's language) and, by rank, the script that stands before the engine."""

    command: tuple[str, ...]
    args: tuple[str, ...]
    env: dict[str, str]
    scripts: dict[int, str]


def process(plan: Plan, crew: Crew) -> Process:
    """The engine of a crew."""
    env, own = _environment(crew)
    command = _words([rank.container.entrypoint for rank in crew.ranks], crew)
    args = _words([rank.container.command for rank in crew.ranks], crew)
    shared = command is not None and args is not None
    found = {rank.rank: _script(plan, rank, own, shared) for rank in crew.ranks}
    scripts = {number: text or NOTHING for number, text in found.items()} if any(found.values()) else {}
    return Process(
        command=(*(("sh", ENTER) if scripts else ()), *((command or ()) if shared else ())),
        args=(args or ()) if shared else (),
        env=env,
        scripts=scripts,
    )


def own_names(crew: Crew) -> tuple[str, ...]:
    """Variables that a template cannot give its ranks, so that a shell does."""
    return _environment(crew)[1]


def _environment(crew: Crew) -> tuple[dict[str, str], tuple[str, ...]]:
    names = sorted({name for rank in crew.ranks for name in rank.container.env})
    words = {name: crew.word(rank.container.env.get(name) for rank in crew.ranks) for name in names}
    shared = {name: word for name, word in words.items() if word is not None}
    return shared, tuple(name for name in names if name not in shared)


def _words(lists: list[tuple[str, ...]], crew: Crew) -> tuple[str, ...] | None:
    if len({len(one) for one in lists}) > 1:
        return None
    words = [crew.word(values) for values in zip(*lists, strict=True)]
    return None if None in words else tuple(word for word in words if word is not None)


def _script(plan: Plan, rank: Rank, own: tuple[str, ...], shared: bool) -> str | None:
    """`enter` with what only this rank has before it."""
    enter = enter_script(rank, plan)
    has = [name for name in own if name in rank.container.env]
    if shared and not has:
        return enter
    lines = [f"# What rank {rank.rank} on {comment(rank.node)} has of its own."]
    lines += [f"export {name}={sh(rank.container.env[name])}" for name in has]
    if not shared:
        argv = (*rank.container.entrypoint, *rank.container.command)
        lines.append("set -- " + " ".join(sh(word) for word in argv))
    return INTERPRETER + "\n".join(lines) + "\n\n" + (enter or NOTHING).removeprefix(INTERPRETER)
