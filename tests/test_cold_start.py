"""A clean lint is quick because of what it does not import; looking at the modules guards the cause."""

import json
from pathlib import Path

import pytest

from tests.support.cli import run_rcc
from tests.support.paths import RECIPES

SLOW = {
    "asyncio", "huggingface_hub", "importlib.metadata", "importlib.resources", "jinja2", "jsonschema", "lark",
    "rcc_targets", "rich", "yaml",
}  # fmt: skip
CLEAN = sorted(RECIPES.glob("*/recipe.toml"))
assert CLEAN


def modules(*args: str, cwd: Path) -> set[str]:
    """The modules that a process of rcc had at its end."""
    report = "import atexit,json,sys; atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))"
    (cwd / "sitecustomize.py").write_text(report)
    ran = run_rcc(*args, cwd=cwd, env={"PYTHONPATH": str(cwd)})
    assert ran.code == 0, ran.text
    return set(json.loads(ran.err.splitlines()[-1]))


@pytest.mark.parametrize("recipe", CLEAN, ids=lambda path: path.parent.name)
def test_a_clean_lint_imports_nothing_slow(recipe: Path, tmp_path: Path) -> None:
    assert not modules("lint", str(recipe), cwd=tmp_path) & SLOW


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_imports_no_command(option: str, tmp_path: Path) -> None:
    found = modules(option, cwd=tmp_path)

    assert not found & SLOW
    assert "rcc.cli.build" not in found
