"""The hooks, run by the real pre-commit in a repository of recipes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rcc.lint.kind import NAMES, SUFFIXES
from tests.support.cli import PATH, call_rcc
from tests.support.pages import completed
from tests.support.paths import ROOT

CONFIG = """\
repos:
  - repo: {repo}
    rev: {rev}
    hooks:
      - id: rcc-lint
        # The environment of the tests has rcc; making one would take minutes and a network.
        language: system
"""
COUNTING = f'#!/bin/sh\necho "$#" >>"$COUNTS"\nexec {Path(sys.executable).with_name("rcc")} "$@"\n'


def git(folder: Path, *args: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *who, *args], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def committed(folder: Path) -> str:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "all")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Recipes, and a configuration that takes the hooks from a clone of this repository's hook file."""
    hooks, recipes, programs = (tmp_path / name for name in ("hooks", "recipes", "bin"))
    for folder in (hooks, recipes, programs):
        folder.mkdir()
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
    rev = committed(hooks)
    (recipes / ".pre-commit-config.yaml").write_text(CONFIG.format(repo=hooks, rev=rev))
    for number in range(60):
        (recipes / f"r{number}.recipe.toml").write_text(completed("port = 8000\n"))
    (recipes / "other.toml").write_text('port = "8000"\n')
    committed(recipes)
    (programs / "rcc").write_text(COUNTING)
    (programs / "rcc").chmod(0o755)
    return recipes


def pre_commit(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {
        "PATH": f"{folder.parent / 'bin'}:{PATH}",
        "HOME": str(folder.parent),
        "PRE_COMMIT_HOME": str(folder.parent / "cache"),
        "COUNTS": str(folder.parent / "counts"),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    command = [str(Path(sys.executable).with_name("pre-commit")), "run", "--color=never", *args]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120)


def test_all_files_go_through_one_process(repository: Path) -> None:
    ran = pre_commit(repository, "--all-files")

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Passed" in ran.stdout
    assert (repository.parent / "counts").read_text().split() == ["61"]


def test_a_slip_stops_the_commit_and_is_shown(repository: Path) -> None:
    (repository / "r7.recipe.toml").write_text(completed('port = "8000"\n'))
    git(repository, "add", "-A")
    ran = pre_commit(repository)

    assert ran.returncode == 1
    assert "error[RCC202]: `port` must be an integer" in ran.stdout
    assert "r7.recipe.toml:5:8" in ran.stdout
    assert (repository.parent / "counts").read_text().split() == ["2"], "the changed file alone"


def test_the_hook_looks_at_what_lint_finds_by_itself(tmp_path: Path) -> None:
    (hook,) = [one for one in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text()) if one["id"] == "rcc-lint"]
    for name in (
        "x.toml",
        "precipe.toml",
        "recipe.toml.bak",
        "mycluster.toml",
        "x.lock",
        *(name for name, kind in NAMES.items() if kind != "settings"),
        *(f"x{s}" for s in SUFFIXES),
    ):
        (tmp_path / name).write_text("?")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/y.cluster.toml").write_text("?")
    found = call_rcc("lint", "--format", "json", "--select", "RCC003,RCC612", ".", cwd=tmp_path).json()["findings"]
    every = [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*")) if path.is_file()]

    assert {one["file"] for one in found} == {name for name in every if re.search(hook["files"], name)}
    assert len({one["file"] for one in found}) >= 7
