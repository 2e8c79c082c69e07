"""Our hooks in the real pre-commit, in a repository made for it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rcc.lint.kind import NAMES, SUFFIXES
from tests.support.cli import PATH, Ran, call_rcc, run_rcc
from tests.support.pages import completed
from tests.support.paths import ROOT
from tests.support.skips import needs
from tools.clean import write_clean_recipe

HOOKS = ROOT / ".pre-commit-hooks.yaml"
COUNTING = f'#!/bin/sh\necho "$#" >>"$COUNTS"\nexec {Path(sys.executable).with_name("rcc")} "$@"\n'
pytestmark = needs("git")


class Repository:
    """A repository with a clean recipe and all of our hooks, which notes how many words rcc is called with."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._counts = folder / "repository", folder / "counts"
        self._env = {
            "PATH": f"{folder / 'bin'}:{PATH}",
            "HOME": str(folder),
            "PRE_COMMIT_HOME": str(folder / "cache"),
            "LANG": "C.UTF-8",
            "COUNTS": str(self._counts),
            "GIT_CONFIG_GLOBAL": os.devnull,
            **{f"GIT_{who}_{what}": "a@b.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        for name in ("bin", "hooks", "repository"):
            (folder / name).mkdir()
        (folder / "bin/rcc").write_text(COUNTING)
        (folder / "bin/rcc").chmod(0o755)
        shutil.copy(HOOKS, folder / "hooks")
        rev = self._committed(folder / "hooks")
        # `system`: the rcc that is installed here, instead of one that pre-commit would fetch the parts of.
        used = [{"id": hook["id"], "language": "system"} for hook in yaml.safe_load(HOOKS.read_text())]
        repo = {"repo": str(folder / "hooks"), "rev": rev, "hooks": used}
        (self.folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [repo]}))
        write_clean_recipe(self.folder)
        (self.folder / "rcc.toml").write_text('[[build]]\nrecipe = "recipe.toml"\ncluster = "cluster.toml"\n')
        self._committed(self.folder)

    @property
    def counts(self) -> list[str]:
        """How many words each call of rcc had."""
        return self._counts.read_text().split()

    def run(self, hook: str, *options: str) -> Ran:
        """Runs a hook: over the files of the commit to come, unless the options say over which."""
        self._git("add", ".", cwd=self.folder)
        words = [sys.executable, "-m", "pre_commit", "run", "--color=never", *options, hook]
        done = subprocess.run(words, cwd=self.folder, env=self._env, capture_output=True, text=True, check=False)
        return Ran(done.returncode, done.stdout, done.stderr)

    def _committed(self, folder: Path) -> str:
        self._git("init", "-q", cwd=folder)
        self._git("add", ".", cwd=folder)
        self._git("commit", "-qm", "all", cwd=folder)
        return self._git("rev-parse", "HEAD", cwd=folder)

    def _git(self, *words: str, cwd: Path) -> str:
        done = subprocess.run(["git", *words], cwd=cwd, env=self._env, check=True, capture_output=True, text=True)
        return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_clean_files_pass(repository: Repository) -> None:
    built = run_rcc("build", "--copy", cwd=repository.folder)
    assert built.code == 0, built.text

    for hook in ("rcc-lint", "rcc-lock-check", "rcc-build-check"):
        ran = repository.run(hook, "--all-files")
        assert ran.code == 0, ran.text
        assert "Passed" in ran.out


def test_all_files_go_through_one_process(repository: Repository) -> None:
    for number in range(60):
        (repository.folder / f"r{number}.recipe.toml").write_text(completed("port = 8000\n"))
    (repository.folder / "other.toml").write_text('port = "8000"\n')

    ran = repository.run("rcc-lint", "--all-files")

    assert ran.code == 0, ran.text
    assert repository.counts == ["64"], "`lint`, and the recipes with the cluster file and the lock of the first"


def test_a_slip_stops_the_commit_and_is_shown(repository: Repository) -> None:
    (repository.folder / "other.recipe.toml").write_text(completed('port = "8000"\n'))

    ran = repository.run("rcc-lint")

    assert ran.code == 1
    assert "error[RCC202]: `port` must be an integer" in ran.out
    assert "other.recipe.toml:5:8" in ran.out
    assert repository.counts == ["2"], "the changed file alone"


def test_a_lock_that_no_longer_fits_is_named(repository: Repository) -> None:
    recipe = repository.folder / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("sglang-rows:1", "sglang-rows:2"))

    ran = repository.run("rcc-lock-check")

    assert ran.code == 1
    assert "sglang-rows:2" in ran.out


def test_a_result_that_is_no_longer_what_the_recipe_builds_is_named(repository: Repository) -> None:
    built = run_rcc("build", "--copy", cwd=repository.folder)
    assert built.code == 0, built.text
    recipe = repository.folder / "recipe.toml"
    recipe.write_text(recipe.read_text().replace('"--load-format"', '"--random-seed", "0", "--load-format"'))

    ran = repository.run("rcc-build-check")

    assert ran.code == 1
    assert "run.sh" in ran.out


def test_the_hook_looks_at_what_lint_finds_by_itself(tmp_path: Path) -> None:
    (hook,) = [one for one in yaml.safe_load(HOOKS.read_text()) if one["id"] == "rcc-lint"]
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
