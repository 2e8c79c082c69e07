"""What changed between two plans, manifests or locks, in meaning: values by the names that people know them by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rcc.quick import dataclass

_NAMES = ("id", "rank", "path", "file", "target", "name", "repo", "reference")
"""By the first of these that all records of a list have and that tells them apart, records are matched."""


@dataclass(frozen=True, slots=True)
class Change:
    """A value before and after, `None` for none; `where` is dotted, `ranks` are those that it happened on."""

    where: str
    old: Any
    new: Any
    ranks: tuple[int, ...] = ()


def plan_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    """Changes of a plan as JSON has it; the same change on several ranks is one."""
    group = changes(_without(old, "name", "plan", "ranks"), _without(new, "name", "plan", "ranks"))
    return (*group, *_rank_changes(_by_rank(old), _by_rank(new)))


def changes(old: Any, new: Any, where: str = "") -> tuple[Change, ...]:
    """All changes between two JSON values, in the order of names."""
    return tuple(_changes(old, new, where))


def flags(argv: Sequence[str]) -> dict[str, Any]:
    """An argv as flags with what follows each, that of a repeated flag in order; words before the first are `argv`."""
    parts: dict[str, list[str]] = {}
    name = "argv"
    for word in argv:
        if _is_flag(word):
            name, _, value = word.partition("=")
            parts.setdefault(name, []).extend([value] if value else [])
        else:
            parts.setdefault(name, []).append(word)
    return {name: " ".join(words) for name, words in parts.items()}


def _is_flag(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and not word[1].isdigit()


def _without(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


def _by_rank(plan: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    return {rank["rank"]: _readable(rank) for rank in plan["ranks"]}


def _readable(rank: Mapping[str, Any]) -> dict[str, Any]:
    """A rank with its command line as flags, and its container's fields beside its own."""
    container = dict(rank["container"])
    argv = [*container.pop("entrypoint"), *container.pop("command")]
    return {**_without(rank, "container", "rank"), **container, "flags": flags(argv), "argv": argv}


def _rank_changes(old: dict[int, Any], new: dict[int, Any]) -> Iterator[Change]:
    found: dict[str, list[Change]] = {}
    for rank in sorted(old.keys() | new.keys()):
        if rank not in old or rank not in new:
            nodes = [side[rank]["node"] if rank in side else None for side in (old, new)]
            yield Change("node", nodes[0], nodes[1], (rank,))
            continue
        for one in _of_one_rank(old[rank], new[rank]):
            same = found.setdefault(one.where, [])
            twin = next((n for n, other in enumerate(same) if (other.old, other.new) == (one.old, one.new)), None)
            if twin is None:
                same.append(Change(one.where, one.old, one.new, (rank,)))
            else:
                same[twin] = Change(one.where, one.old, one.new, (*same[twin].ranks, rank))
    yield from (one for where in sorted(found) for one in found[where])


def _of_one_rank(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    found = changes(_without(old, "argv"), _without(new, "argv"))
    if old["argv"] != new["argv"] and not any(one.where.startswith("flags.") for one in found):
        return (*found, Change("order of flags", _order(old), _order(new)))
    return found


def _order(rank: Mapping[str, Any]) -> str:
    return " ".join(filter(_is_flag, rank["argv"]))


def _changes(old: Any, new: Any, where: str) -> Iterator[Change]:
    if old == new:
        return
    old, new = _named(old, new)
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted(old.keys() | new.keys(), key=str):
            yield from _changes(old.get(name), new.get(name), f"{where}.{name}" if where else str(name))
    else:
        yield Change(where, old, new)


def _named(old: Any, new: Any) -> tuple[Any, Any]:
    """Two lists of records as mappings by what tells their records apart; any other two values as they are."""
    if not (isinstance(old, list) and isinstance(new, list)):
        return old, new
    records = [*old, *new]
    if not all(isinstance(one, Mapping) for one in records):
        return old, new
    for name in _NAMES:
        if all(_tells_apart(name, side) for side in (old, new)):
            return {str(one[name]): one for one in old}, {str(one[name]): one for one in new}
    return old, new


def _tells_apart(name: str, records: Sequence[Mapping[str, Any]]) -> bool:
    values = [one.get(name) for one in records]
    return None not in values and all(isinstance(one, str | int) for one in values) and len(set(values)) == len(values)
