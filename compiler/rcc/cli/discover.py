"""Which files a command is about: recipe, cluster file and lock, as paths from the working folder."""

from __future__ import annotations

import os
from pathlib import Path

from rcc.cli.settings import folders_above

RECIPE, CLUSTER = "recipe.toml", "cluster.toml"
CLUSTER_VARIABLE = "RCC_CLUSTER"


def recipe_path(argument: str) -> str:
    """A recipe as it was named: a file, or a folder with a `recipe.toml` in it."""
    return os.path.normpath(os.path.join(argument, RECIPE)) if os.path.isdir(argument) else argument


def lock_path(recipe: str) -> str:
    """Where a recipe's lock is: beside it, `X.recipe.lock` for `X.recipe.toml`."""
    return recipe.removesuffix(".toml") + ".lock"


def present_lock(recipe: str) -> str | None:
    """The recipe's lock, if there is one."""
    path = lock_path(recipe)
    return path if os.path.lexists(path) else None


def cluster_path(recipe: str, option: str | None) -> str | None:
    """The cluster file: the option, `RCC_CLUSTER`, or `cluster.toml` beside the recipe or above it.

    The search ends at the folder with `.git`; where no folder has one, it looks beside the recipe alone, so that
    nobody's file in a shared folder further up is taken for ours.
    """
    stated = option or os.environ.get(CLUSTER_VARIABLE)
    if stated:
        return stated
    folder = os.path.dirname(recipe)
    above = list(folders_above(Path(os.path.realpath(folder))))
    if not os.path.exists(above[-1] / ".git"):
        above = above[:1]
    for one in above:
        if os.path.isfile(one / CLUSTER):
            beside = os.path.join(folder, CLUSTER)
            return beside if one == above[0] else _from_here(one / CLUSTER, recipe)
    return None


def _from_here(path: Path, recipe: str) -> str:
    """A path in the manner of the recipe's: absolute, or from the working folder."""
    return str(path) if os.path.isabs(recipe) else os.path.relpath(path)
