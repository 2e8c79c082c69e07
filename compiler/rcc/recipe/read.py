"""Reads a recipe: TOML and bases to a typed, checked model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rcc import __version__
from rcc.diagnostic import MOST, Finding, Findings, finding, first_ones, has_errors, in_order
from rcc.quick import replace
from rcc.recipe.identity import default_id, proposed_id, why_none
from rcc.recipe.keys import LANGUAGE, RECIPE, RECIPE_SHAPE
from rcc.recipe.layers import SPENT, Layers, Read, read_layers
from rcc.recipe.model import Recipe, RecipeFile
from rcc.recipe.refusal import outside, refused
from rcc.recipe.shape import Problem, Problems, shown
from rcc.syntax.document import Document

Check = Callable[[Recipe], Iterator[Problem]]


def read_recipe(name: str, read: Read, id: str | None = None) -> tuple[RecipeFile | None, Findings]:
    """Reads the recipe `name` with its bases.

    `read` gives a file's bytes or raises OSError. `id` stands in for the recipe's own, as a rebuild under the id that
    was recorded needs it.
    """
    layers, found = read_layers(name, read)
    if layers is None:
        return None, found
    recipe, more = recipe_of(name, layers, id)
    found = in_order((*found, *more))
    return (None if has_errors(found) else recipe), found


def recipe_of(name: str, layers: Layers, id: str | None = None) -> tuple[RecipeFile | None, Findings]:
    """The typed recipe of a file and its bases, once they are read; with errors what is left of it for a linter."""
    of_bases = tuple(one for document in layers.documents for one in _spent(document))
    complete = layers.complete and not of_bases
    in_vain = tuple(first_ones(_in_vain(*one) for one in layers.unset_in_vain[: MOST + 1])) if complete else ()
    problems: Problems = []
    recipe, lost = RECIPE_SHAPE(layers.values, (), problems), frozenset[str]()
    if not complete:
        problems = [one for one in problems if not _may_be_in_a_base(one)]
    if complete and not (id or layers.values.get("id") or default_id(name)):
        problems.append(_no_id(name))
    if len(problems) <= MOST and not (isinstance(recipe, Recipe) and complete):
        recipe, lost = _rest(layers, complete)
    if isinstance(recipe, Recipe):
        problems.extend(problem for check in _CHECKS for problem in check(recipe))
    if layers.torn:
        problems = outside(layers.torn, problems)
    found = (*of_bases, *in_vain, *(refused(layers, problems, LANGUAGE) if problems else ()))
    if not isinstance(recipe, Recipe):
        return None, found
    own_id = recipe.id or default_id(name) or "recipe" if id is None else id
    return RecipeFile(recipe, own_id, layers, lost | layers.torn), found


def _may_be_in_a_base(problem: Problem) -> bool:
    """Whether what a recipe lacks may stand in a base: tables are merged, arrays are not."""
    return problem.lacks is not None and not any(isinstance(part, int) for part in problem.path)


def _rest(layers: Layers, complete: bool) -> tuple[Recipe | None, frozenset[str]]:
    from rcc.recipe.rest import StandIns, rest_of

    stand_ins = StandIns(_STAND_INS, _ELEMENTS)
    recipe, lost = rest_of(layers.values, RECIPE_SHAPE, stand_ins, () if complete else tuple(_STAND_INS))
    if not complete:
        lost |= {key for key in RECIPE if key not in layers.values or isinstance(layers.values[key], dict)}
    if recipe is not None and "model" in lost:
        recipe = replace(recipe, revision=None)
    return recipe, lost


_STAND_INS = {
    "engine": "custom",
    "docker_image": f"localhost/missing:1@sha256:{'0' * 64}",
    "model": "/missing",
}
_ELEMENTS: dict[str, Mapping[str, Any] | str] = {
    "args": "{{ id }}",
    "assert": {"path": "/*", "contains": "*"},
    "cap_add": "MISSING",
    "devices": "/dev/missing-*",
    "entrypoint": "{{ id }}",
    "extra_mounts": {"host": "/dev/*", "container": "/*", "read_only": True, "sha256": "0" * 64},
    "models": {"id": "*", "model": "/missing", "revision": "0" * 40},
    "secrets": "MISSING_*",
    "staging": {"kind": "snapshot", "id": "*", "src": "{{ model.host_path }}", "dst": "/dev/*"},
}


def _spent(document: Document) -> Findings:
    """What is wrong with the keys that a merged recipe does not have any more."""
    problems: Problems = []
    for key in SPENT:
        if key in document.values:
            RECIPE[key](document.values[key], (key,), problems)
    return refused(document, problems, LANGUAGE) if problems else ()


def _in_vain(document: Document, name: str) -> Finding:
    """What is wrong with an element of `unset` that removes nothing."""
    place = document.place(("unset", document.values["unset"].index(name)))
    help = (
        "correct it, or remove it" if "extends" in document.values else "remove it: without `extends` there is no base"
    )
    return finding("RCC211", f"no base has `{shown(name)}`, so that nothing is removed", place, help=help)


def _no_id(name: str) -> Problem:
    proposed = proposed_id(name)
    return Problem(("id",), "RCC204", f"the recipe has no `id`, and {why_none(name)}", f'add `id = "{proposed}"`')


def _version(recipe: Recipe) -> Iterator[Problem]:
    if recipe.requires_rcc is None:
        return
    allowed = _satisfies(__version__, recipe.requires_rcc)
    if allowed is None:
        help = "write a range such as `>=0.1, <1`"
        yield Problem(("requires_rcc",), "RCC205", f"`{recipe.requires_rcc}` is not a version range", help)
    elif not allowed:
        help = "use an rcc of that range, or widen it after a look at the change log"
        message = f"this recipe wants rcc {recipe.requires_rcc}, and this is rcc {__version__}"
        yield Problem(("requires_rcc",), "RCC209", message, help)


def _satisfies(version: str, wanted: str) -> bool | None:
    own = _numbers(version)
    results = []
    for clause in wanted.split(","):
        match = re.fullmatch(r"\s*(>=|<=|==|!=|<|>)\s*(\d{1,9}(?:\.\d{1,9})*)\s*", clause)
        if not match:
            return None
        other = _numbers(match[2])
        order = (own > other) - (own < other)
        results.append(order in _ORDERS[match[1]])
    return all(results)


_ORDERS = {">=": (0, 1), "<=": (0, -1), "==": (0,), "!=": (1, -1), "<": (-1,), ">": (1,)}


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in re.findall(r"\d+", version)]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _model(recipe: Recipe) -> Iterator[Problem]:
    if recipe.model is None and recipe.engine != "custom":
        message = f"engine `{recipe.engine}` needs a `model`"
        yield Problem((), "RCC204", message, 'add `model = "org/name"`', "key", "model")
    if recipe.revision is not None and (recipe.model or "/").startswith("/"):
        message = "`revision` without a Hugging Face model has nothing to choose from"
        yield Problem(("revision",), "RCC206", message, "remove it, or name the model by its repo id", "key")


def _ipc(recipe: Recipe) -> Iterator[Problem]:
    if recipe.ipc == "host" and recipe.shm_size is not None:
        message = '`shm_size` has no effect with `ipc = "host"`: docker ignores it, podman refuses it'
        yield Problem(("shm_size",), "RCC206", message, 'remove one of the two, or write `ipc = "private"`', "key")


def _secrets(recipe: Recipe) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, name in enumerate(recipe.secrets):
        if name in recipe.env:
            message = f"`{name}` is a secret and stands in `[env]` too"
            yield Problem(("secrets", index), "RCC206", message, "remove it from `[env]`: its value is on the node")
        if name in seen:
            yield Problem(("secrets", index), "RCC206", f"`{name}` is a secret already", "name each once")
        seen.add(name)


def _unique(recipe: Recipe) -> Iterator[Problem]:
    for key, ids in (
        ("models", [one.id for one in recipe.models]),
        ("staging", [one.id for one in recipe.staging]),
    ):
        first: dict[str, int] = {}
        for index, one in enumerate(ids):
            if first.setdefault(one, index) != index:
                message = f"`{one}` is the id of `{key}[{first[one]}]` already"
                yield Problem((key, index, "id"), "RCC206", message, "give each its own id")


def _captured(recipe: Recipe) -> Iterator[Problem]:
    for name in recipe.env:
        if name in RECIPE:
            yield Problem(("env", name), "RCC201", f"`{name}` is no environment variable", None, "key")


_CHECKS: tuple[Check, ...] = (_version, _model, _ipc, _secrets, _unique, _captured)
