"""What is left of a recipe once all that its reader refuses is taken out, so that one slip does not hide the next.

What is missing gets a stand-in that no rule has anything to say of, so that elements of arrays keep their indices.
"""

from __future__ import annotations

from typing import Any

from rcc.recipe.keys import RECIPE_SHAPE
from rcc.recipe.layers import Layers
from rcc.recipe.model import Recipe, RecipeFile
from rcc.recipe.shape import Problem, Problems
from rcc.source import Path

_ROUNDS = 4
_UNKNOWN = "{{ id }}"
"""A text that is not known before its templates are filled."""

_TOP = {
    "engine": "custom",
    "docker_image": f"localhost/missing:1@sha256:{'0' * 64}",
    "model": "/missing",
}
# Keys that decide what resolving says of others.
_DECIDING = frozenset(
    (
        *("engine", "model", "models", "required_nodes", "topology", "port", "rendezvous_port", "extends", "secrets"),
        *("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "distributed_backend"),
    )
)


def rest_of(layers: Layers) -> tuple[RecipeFile | None, bool]:
    """The rest of a recipe, and whether what was taken out decides how the rest would be resolved."""
    values = _copy(layers.values)
    touched: set[str] = set()
    for _ in range(_ROUNDS):
        problems: Problems = []
        recipe = RECIPE_SHAPE(values, (), problems)
        if isinstance(recipe, Recipe):
            return RecipeFile(recipe, recipe.id or "recipe", layers), not touched.isdisjoint(_DECIDING)
        for problem in problems:
            _take_out(values, problem)
            touched.add(str(problem.path[0]) if problem.path else _missing(problem))
    return None, True


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(one) for key, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, list) else value


def _take_out(values: dict[str, Any], problem: Problem) -> None:
    if problem.code == "RCC204":
        table = _at(values, problem.path)
        name = _missing(problem)
        if isinstance(table, dict):
            table.setdefault(name, _stand_in(problem.path, name))
        return
    around = _at(values, problem.path[:-1])
    if isinstance(around, dict):
        around.pop(problem.path[-1], None)
        if problem.path in (("revision",), ("model",)):
            values["model"] = "/missing"
            values.pop("revision", None)
    elif isinstance(around, list) and isinstance(problem.path[-1], int):
        around[problem.path[-1]] = {} if problem.path[0] in _ELEMENTS else _UNKNOWN


def _missing(problem: Problem) -> str:
    """The key that a message about a missing one names last."""
    return problem.message.rsplit("`", 2)[-2]


def _at(values: Any, path: Path) -> Any:
    for part in path:
        if isinstance(values, dict):
            values = values.get(str(part))
        elif isinstance(values, list) and isinstance(part, int) and part < len(values):
            values = values[part]
        else:
            return None
    return values


def _stand_in(path: Path, name: str) -> Any:
    if not path:
        return _TOP.get(name, _UNKNOWN)
    own = f"missing-{path[-1]}"
    return _ELEMENTS.get(str(path[0]), {}).get(name, f"/dev/{own}").replace("*", own)


_ELEMENTS = {
    "models": {"id": "*", "model": "/missing"},
    "extra_mounts": {"host": "/dev/*", "container": "/*"},
    "staging": {"kind": "snapshot", "id": "*", "src": "{{ model.host_path }}", "dst": "/dev/*"},
    "assert": {"path": "/*", "contains": "*"},
}
