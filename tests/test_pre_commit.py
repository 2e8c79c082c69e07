"""Our hooks in the real pre-commit, in a repository made for it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.cli import PATH, Ran, run_rcc
from tests.support.paths import ROOT
from tests.support.skips import needs
from tools.clean import write_clean_recipe

HOOKS = ROOT / ".pre-commit-hooks.yaml"
pytestmark = needs("git")


class Repository:
    """A repository with a clean recipe and all of our hooks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "repository"
        self.env = {"PATH": PATH, "HOME": str(folder), "PRE_COMMIT_HOME": str(folder / "cache"), "LANG": "C.UTF-8"}
        self.env |= {
            f"GIT_{who}_{what}": "a@b.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        hooks = folder / "hooks"
        self.git("init", "-q", str(hooks), cwd=folder)
        shutil.copy(HOOKS, hooks)
        self.git("add", ".", cwd=hooks)
        self.git("commit", "-q", "-m", "hooks", cwd=hooks)
        self.git("init", "-q", str(self.folder), cwd=folder)
        write_clean_recipe(self.folder)
        (self.folder / "rcc.toml").write_text('[[build]]\nrecipe = "recipe.toml"\ncluster = "cluster.toml"\n')
        self._configure(hooks)

    def git(self, *words: str, cwd: Path | None = None) -> str:
        done = subprocess.run(["git", *words], cwd=cwd or self.folder, env=self.env, check=True, capture_output=True)
        return done.stdout.decode().strip()

    def _configure(self, hooks: Path) -> None:
        # `system`: the rcc that is installed here, instead of one that pre-commit would fetch the parts of.
        used = [{"id": hook["id"], "language": "system"} for hook in yaml.safe_load(HOOKS.read_text())]
        repo = {"repo": str(hooks), "rev": self.git("rev-parse", "HEAD", cwd=hooks), "hooks": used}
        (self.folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [repo]}))

    def run(self, hook: str) -> Ran:
        self.git("add", ".")
        words = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--color=never", hook]
        done = subprocess.run(words, cwd=self.folder, env=self.env, capture_output=True, text=True, check=False)
        return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_clean_files_pass(repository: Repository) -> None:
    built = run_rcc("build", "--copy", cwd=repository.folder)
    assert built.code == 0, built.text

    for hook in ("rcc-lint", "rcc-lock-check", "rcc-build-check"):
        ran = repository.run(hook)
        assert ran.code == 0, ran.text
        assert "Passed" in ran.out


def test_lint_sees_recipes_under_both_names(repository: Repository) -> None:
    broken = 'engine = "sglang"\nport = "30000"\n'
    (repository.folder / "other.recipe.toml").write_text(broken)

    ran = repository.run("rcc-lint")

    assert ran.code == 1
    assert "other.recipe.toml:2" in ran.out


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
