"""Checks files: everything that reading finds, and every family of rules that can have something to say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from rcc.diagnostic import Finding, Findings, first_ones
from rcc.lint.context import Context
from rcc.quick import dataclass
from rcc.recipe.keys import LANGUAGE
from rcc.recipe.layers import Read, read_layers
from rcc.recipe.model import RecipeFile
from rcc.recipe.read import recipe_of
from rcc.syntax.document import Document

if TYPE_CHECKING:
    from rcc.cluster.model import ClusterFile
    from rcc.lock.model import Lock

# A family's module is imported for the first recipe that gives it anything to look at.
_FAMILIES: tuple[tuple[str, Callable[[Context], object]], ...] = (
    ("agreement", lambda context: True),
    ("flags", lambda context: context.recipe.args),
    ("mounts", lambda context: context.recipe.extra_mounts),
    ("pinning", lambda context: True),
    ("staging", lambda context: context.recipe.staging),
    ("templates", lambda context: context.holds("{{", "<<", "$")),
)


@dataclass(frozen=True, slots=True)
class Checked:
    """A recipe as far as it can be read, and what reading it and its text and tables showed."""

    file: RecipeFile | None
    document: Document | None
    found: Findings


def check_recipe(name: str, read: Read) -> Checked:
    """Reads a recipe; of a broken one what can be read."""
    layers, found = read_layers(name, read)
    if layers is None:
        return Checked(None, None, found)
    file, more = recipe_of(name, layers)
    return Checked(file, layers.top, (*found, *more, *_check_document(layers.top)))


def _check_document(document: Document) -> Iterator[Finding]:
    from rcc.lint import order, secrets

    yield from first_ones(order.check(document, LANGUAGE))
    yield from first_ones(secrets.check_secret_in_clear(document))


@cache
def _family(module: str) -> Callable[[Context], Iterator[Finding]]:
    check: Callable[[Context], Iterator[Finding]] = import_module(f"rcc.lint.{module}").check
    return check


def check_rules(
    file: RecipeFile,
    lock: Lock | None = None,
    cluster: ClusterFile | None = None,
    topology: str | None = None,
    is_file: Callable[[str], bool] = lambda path: False,
) -> Iterator[Finding]:
    """What the rules find in a recipe that can be read; with the topology's profile where a cluster is given."""
    context = Context(file, lock, cluster, topology, is_file)
    for module, applies in _FAMILIES:
        if applies(context):
            yield from first_ones(_family(module)(context))
    if file.recipe.env or (cluster and topology):
        from rcc.lint import environment, nccl

        yield from first_ones(environment.check(context.variables))
        if any(name.startswith("NCCL_") for name in context.variables):
            yield from first_ones(nccl.check(context.variables))
    if cluster is not None:
        from rcc.lint import cluster as together

        yield from first_ones(together.check(context))
