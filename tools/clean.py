"""A recipe that lint finds nothing in, as long as real ones are: what speed and imports are measured on."""

from __future__ import annotations

import shutil
from pathlib import Path

RECIPES = Path(__file__).resolve().parent.parent / "recipes"
PATTERN = RECIPES / "tables-by-lock"
PINNED = Path(__file__).resolve().parent.parent / "tests/cases/ok-four-nodes.toml"
_COMMENTS = "# Notes on how this came about, and what else was tried and measured.\n" * 75
_FLAGS = '"--max-total-tokens", "200000",'
_ENV = "".join(f'SETTING_{number} = "value {number}"\n' for number in range(50))


def write_clean_recipe(folder: Path, name: str = "recipe") -> Path:
    """Writes a recipe of some 170 lines with its lock and cluster file; returns the recipe's path."""
    folder.mkdir(parents=True, exist_ok=True)
    text = (PATTERN / "recipe.toml").read_text("utf-8").replace("args = [", f"args = [{_FLAGS}")
    recipe = folder / f"{name}.toml"
    recipe.write_text(_COMMENTS + text + _ENV, "utf-8")
    shutil.copy(PATTERN / "recipe.lock", recipe.with_suffix(".lock"))
    shutil.copy(PATTERN / "cluster.toml", folder)
    return recipe


def write_pinned_recipe(folder: Path, name: str = "pinned") -> Path:
    """Writes `<name>.recipe.toml`, as long as real ones are, which needs no lock: all that it names is pinned in it."""
    folder.mkdir(parents=True, exist_ok=True)
    recipe = folder / f"{name}.recipe.toml"
    recipe.write_text(PINNED.read_text("utf-8"), "utf-8")
    return recipe


def write_group(folder: Path, nodes: int) -> None:
    """Writes `group-<nodes>.recipe.toml`, a recipe for so many nodes, and makes `cluster.toml` large enough."""
    text = (PATTERN.with_name("gpt-oss-120b-pair") / "recipe.toml").read_text("utf-8")
    for old, new in (("= 2\n", f"= {nodes}\n"), ('id = "', f'id = "n{nodes}-'), ('topology = "2nodes-direct"\n', "")):
        text = text.replace(old, new)
    (folder / f"group-{nodes}.recipe.toml").write_text(text, "utf-8")
    addresses = "".join(
        f'\n[[nodes]]\nname = "node{number}"\nhost = "10.0.1.{number}"\nfabric = "192.168.201.{number}"\n'
        for number in range(5, nodes + 1)
    )
    cluster = (PATTERN / "cluster.toml").read_text("utf-8")
    (folder / "cluster.toml").write_text(cluster.replace("\n# Both halves", f"{addresses}\n# Both halves"), "utf-8")
