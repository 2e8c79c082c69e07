"""A clean lint is quick because of what it does not import; looking at the modules guards the cause."""

import json
from pathlib import Path

import pytest

from tests.support.cli import run_rcc
from tools.clean import write_clean_recipe

SLOW = {
    "asyncio", "huggingface_hub", "importlib.metadata", "importlib.resources", "jinja2", "jsonschema", "lark",
    "rcc_targets", "rich", "yaml",
}  # fmt: skip


def modules(*args: str, cwd: Path) -> set[str]:
    """The modules that a process of rcc had at its end."""
    report = "import atexit,json,sys; atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))"
    (cwd / "sitecustomize.py").write_text(report)
    ran = run_rcc(*args, cwd=cwd, env={"PYTHONPATH": str(cwd)})
    assert ran.code == 0, ran.text
    assert "[RCC" not in ran.text
    return set(json.loads(ran.err.splitlines()[-1]))


def test_a_clean_lint_imports_nothing_slow(tmp_path: Path) -> None:
    recipe = write_clean_recipe(tmp_path)
    found = modules("lint", "-c", "cluster.toml", recipe.name, cwd=tmp_path)

    assert "rcc.cli.lint" in found
    assert not found & SLOW


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_imports_no_command(option: str, tmp_path: Path) -> None:
    found = modules(option, cwd=tmp_path)

    assert not found & SLOW
    assert "rcc.cli.build" not in found
