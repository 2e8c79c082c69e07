"""A recipe that lint finds nothing in, as long as real ones are: what speed and imports are measured on."""

from __future__ import annotations

import shutil
from pathlib import Path

PATTERN = Path(__file__).resolve().parent.parent / "recipes/tables-by-lock"
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
