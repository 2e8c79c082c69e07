"""What a build refuses, as the command line says it: files that would be built into something else than they say."""

from pathlib import Path

from tests.support.cli import Ran, call_rcc
from tests.support.texts import FOUR_NODES, FOUR_RANKS

COMMIT = "a" * 40


def built(folder: Path, recipe: str, cluster: str | None = FOUR_NODES, *arguments: str, command: str = "build") -> Ran:
    """What `rcc build` says of a recipe and a cluster file, a line a finding."""
    (folder / "r.toml").write_text(recipe)
    if cluster is not None:
        (folder / "cluster.toml").write_text(cluster)
    return call_rcc(command, "r.toml", *(("-c", "cluster.toml") if cluster else ()), *arguments, cwd=folder)


def test_a_further_model_never_takes_the_place_of_the_recipe_s_own(tmp_path: Path) -> None:
    further = f'revision = "{COMMIT}"\n[[models]]\nid = "model"\nmodel = "o/b"\nrevision = "{"b" * 40}"\n'
    for command in ("plan", "build", "lint"):
        ran = built(tmp_path, FOUR_RANKS + further, command=command)

        assert ran.code == 1
        assert "error[RCC206]: `model` is the id of the recipe's own `model` already\n --> r.toml:9:6\n" in ran.text
        assert "help: give it another, such as `draft`" in ran.text
