"""Recipes with a lock that can be made again offline, from an image and a model that are made here."""

import shutil
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support import checkpoint
from tests.support.cli import Ran, call_rcc
from tests.support.oci import Blobs
from tests.support.paths import RECIPES
from tests.support.results import texts

NAMES = ("hello", "tables-by-lock")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Where `rcc lock` is told to look: an OCI layout with both images, and a model cache."""
    folder = tmp_path_factory.mktemp("sources")
    blobs = Blobs()
    image = blobs.multi_arch()
    tags = {"localhost/rcc-hello:1": image, "registry.example.com/llm/sglang-rows:1": image}
    layout = blobs.write_layout(folder / "oci", tags)
    cache = checkpoint.make(folder).cache
    return ("--image-from", f"oci:{layout}", "--model-from", f"cache:{cache}")


def copied(name: str, tmp_path: Path) -> Path:
    """A recipe's folder without its lock."""
    folder = tmp_path / name
    shutil.copytree(RECIPES / name, folder)
    (folder / "recipe.lock").unlink(missing_ok=True)
    return folder


def lock(folder: Path, sources: tuple[str, ...]) -> Ran:
    return call_rcc("lock", "recipe.toml", *sources, cwd=folder)


@pytest.mark.parametrize("name", NAMES)
def test_a_locked_recipe_gives_its_golden_artifacts(
    name: str, sources: tuple[str, ...], golden: SnapshotAssertion, tmp_path: Path
) -> None:
    folder = copied(name, tmp_path)
    locked = lock(folder, sources)
    assert locked.code == 0, locked.text

    built = call_rcc("build", "recipe.toml", "--locked", "-o", "result", "--copy", cwd=folder)

    assert built.code == 0, built.text
    assert (folder / "recipe.lock").read_text() == golden(name=f"{name}/recipe.lock")
    for path, text in texts(folder / "result"):
        assert text == golden(name=f"{name}/result/{path}")


def test_the_lock_beside_the_recipe_is_the_one_that_is_made_again(sources: tuple[str, ...], tmp_path: Path) -> None:
    folder = copied("tables-by-lock", tmp_path)

    locked = lock(folder, sources)

    assert locked.code == 0, locked.text
    assert (folder / "recipe.lock").read_bytes() == (RECIPES / "tables-by-lock" / "recipe.lock").read_bytes()


def test_a_lock_that_answers_everything_asks_for_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    shutil.copytree(RECIPES / "tables-by-lock", folder)
    before = (folder / "recipe.lock").read_bytes()

    again = lock(folder, ("--image-from", "oci:/nowhere", "--model-from", "cache:/nowhere"))

    assert again.code == 0, again.text
    assert (folder / "recipe.lock").read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [
        ('name = "Tables by rows, as the lock says"', 'name = "Other"\n# a comment', []),
        ('"--load-format"', '"--random-seed", "0", "--load-format"', []),
        ("sglang-rows:1", "sglang-rows:2", ["image `engine`"]),
        ("required_nodes = 4", "required_nodes = 2", ["staging `engram`"]),
    ],
)
def test_only_what_was_asked_differently_is_stale(old: str, new: str, stale: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    shutil.copytree(RECIPES / "tables-by-lock", folder)
    recipe = folder / "recipe.toml"
    recipe.write_text(recipe.read_text().replace(old, new, 1))

    checked = call_rcc("lock", "recipe.toml", "--check", cwd=folder)

    assert checked.code == (1 if stale else 0), checked.text
    for entry in ("image `engine`", "model `model`", "staging `engram`"):
        assert (f"does not answer for {entry}" in checked.text) is (entry in stale), checked.text
