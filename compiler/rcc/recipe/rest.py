"""What is left of a file once all that its reader refuses is taken out, so that one slip does not hide the next.

What must be there gets a stand-in that no rule has anything to say of, and so does an element of an array, so that the
others keep their indices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rcc.quick import dataclass
from rcc.recipe.shape import Problem, Problems, Shape
from rcc.source import Path

_ROUNDS = 8
_OF_ELEMENT = 3
"""How long the path of a key is that a table in an array has."""


@dataclass(frozen=True, slots=True)
class StandIns:
    """What stands in for top-level keys and for elements of arrays, of tables by key; `*` is a name of its own."""

    top: Mapping[str, Any]
    elements: Mapping[str, Mapping[str, Any] | str]


def rest_of(
    values: dict[str, Any], shape: Shape, stand_ins: StandIns, missing: tuple[str, ...] = ()
) -> tuple[Any, frozenset[str]]:
    """What the shape makes of the rest, or None, and what of it, but for unknown keys, is gone.

    That is a top-level key, or of tables in an array the key that one of them lacks: `staging.dst`. The keys `missing`
    get their stand-ins where they are not there.
    """
    rest = _Rest(values, stand_ins, missing)
    for _ in range(_ROUNDS):
        problems: Problems = []
        made = shape(rest.values, (), problems)
        if not problems:
            return made, frozenset(rest.lost)
        changed = [rest.mend(problem) for problem in problems]
        if not any(changed):
            break
    return None, frozenset(rest.lost)


class _Rest:
    """Values that get fewer."""

    def __init__(self, values: dict[str, Any], stand_ins: StandIns, missing: tuple[str, ...]) -> None:
        self.values: dict[str, Any] = _copy(values)
        self.lost: set[str] = set()
        self._stand_ins = stand_ins
        self._gone: set[Path] = set()
        self._filled: set[Path] = set()
        for key in missing:
            self.values.setdefault(key, stand_ins.top[key])

    def mend(self, problem: Problem) -> bool:
        """Takes out what the problem is about, or puts in what is missing; what is refused again goes as a whole.

        False where nothing is left that could go.
        """
        path = problem.path
        if problem.lacks and self._fill(path, problem.lacks):
            self.lost.add(_lost((*path, problem.lacks)))
            return True
        while path and path in self._gone:
            path = path[:-1]
        self._gone.add(path)
        if path:
            self._take_out(path)
            if problem.code != "RCC201":
                self.lost.add(_lost(path))
        return bool(path)

    def _fill(self, path: Path, key: str) -> bool:
        table = _at(self.values, path)
        stand_in = self._of_element(path, key) if path else self._stand_ins.top.get(key)
        if not isinstance(table, dict) or not stand_in or (*path, key) in self._filled:
            return False
        self._filled.add((*path, key))
        table[key] = stand_in
        return True

    def _of_element(self, path: Path, key: str | int) -> Any:
        keys = self._stand_ins.elements.get(str(path[0]), "")
        stand_in = None if isinstance(keys, str) else keys.get(str(key))
        return stand_in.replace("*", f"missing-{path[-1]}") if isinstance(stand_in, str) else stand_in

    def _take_out(self, path: Path) -> None:
        around, last = _at(self.values, path[:-1]), path[-1]
        if isinstance(around, dict):
            around.pop(last, None)
            stand_in = self._of_element(path[:-1], last) if len(path) == _OF_ELEMENT else None
            if stand_in is not None:
                around[str(last)] = stand_in
        elif isinstance(around, list) and isinstance(last, int):
            element = self._stand_ins.elements.get(str(path[0]), "")
            around[last] = element.replace("*", str(last)) if isinstance(element, str) else {}
        if len(path) == 1 and last in self._stand_ins.top:
            self.values[str(last)] = self._stand_ins.top[str(last)]


def _lost(path: Path) -> str:
    in_element = len(path) >= _OF_ELEMENT and isinstance(path[1], int)
    return f"{path[0]}.{path[2]}" if in_element else str(path[0])


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(one) for key, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, list) else value


def _at(values: Any, path: Path) -> Any:
    for part in path:
        if isinstance(values, dict):
            values = values.get(str(part))
        elif isinstance(values, list) and isinstance(part, int) and part < len(values):
            values = values[part]
        else:
            return None
    return values
