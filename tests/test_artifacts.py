"""The artifacts of every recipe in `recipes/`, as a user gets them: golden/artifacts/<recipe>/ is a result."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.cli import call_rcc
from tests.support.paths import RECIPES, ROOT
from tests.support.results import texts

NAMES = sorted(path.parent.name for path in RECIPES.glob("*/recipe.toml"))
assert NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_gives_its_golden_artifacts(name: str, golden: SnapshotAssertion, tmp_path: Path) -> None:
    built = call_rcc("build", f"recipes/{name}", "-o", tmp_path / "result", "--copy", cwd=ROOT)
    assert built.code == 0, built.text

    for path, text in texts(tmp_path / "result"):
        assert text == golden(name=f"{name}/{path}")
