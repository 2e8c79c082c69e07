"""Promises of the repository itself: what is pinned, what is accounted for, and what others take from it."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCKED = sorted((ROOT / "requirements").glob("*.txt"))
assert LOCKED


def distribution(requirement: str) -> str:
    return re.split(r"[<>=\[ ]", requirement)[0].lower().replace("_", "-")


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.name)
def test_locked_requirements_have_hashes_and_no_address(path: Path) -> None:
    text = path.read_text()

    assert not re.search(r"://|^-|@ ", text, re.M)
    assert text.count("==") <= text.count("--hash=sha256:")


def test_what_the_project_asks_for_is_locked() -> None:
    locked = "".join(path.read_text() for path in LOCKED)
    asked = [
        *PROJECT["dependencies"],
        *PROJECT["optional-dependencies"]["lock"],
        *PROJECT["optional-dependencies"]["dev"],
    ]

    assert not [one for one in map(distribution, asked) if not re.search(f"^{one}==", locked, re.M)]


def test_run_time_dependencies_are_accounted_for() -> None:
    wanted = {distribution(one) for one in [*PROJECT["dependencies"], *EXTRAS["lock"]]}
    told = {path.stem.replace("_", "-") for path in (ROOT / "docs/decisions").glob("*.md")}

    assert wanted <= told


def test_hooks_are_what_pre_commit_reads() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())

    assert [hook["id"] for hook in hooks] == ["rcc-lint", "rcc-lock-check", "rcc-build-check"]
    names = ["recipe.toml", "a/x.recipe.toml", "cluster.toml", "recipe.lock", "x.recipe.lock"]
    others = ["pyproject.toml", "myrecipe.toml", "poetry.lock"]
    assert all(re.search(hooks[0]["files"], name) for name in names)
    assert not any(re.search(hooks[0]["files"], name) for name in others)


# In every Debian, or in the package of another program that CI looks for.
AT_HAND = {"bash", "dash", "mount", "nsenter", "ssh-keygen", "systemctl", "tar"}


def test_ci_installs_every_program_that_tests_need() -> None:
    calls = r"\b(?:needs|require)\(((?:\s*\"[^\"]+\",?)+)"
    texts = [path.read_text() for path in (ROOT / "tests").rglob("*.py")]
    needed = {name for text in texts for call in re.findall(calls, text) for name in re.findall(r"[^\s\",]+", call)}
    listed = re.findall(r"(\S+):\S+", (ROOT / ".ci/run").read_text().split("'")[1])

    assert {"podman", "sshd", "shellcheck"} <= needed
    assert needed - {Path(name).name for name in listed} - AT_HAND == set()
