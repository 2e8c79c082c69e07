"""Staleness: what differs between lock and recipe, by comparison alone."""

import json
from pathlib import Path

import pytest

from tests.support.cli import call_rcc
from tests.support.locks import RECIPE, SOURCES, edit, lock, locked, make_project
from tests.support.paths import RECIPES


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


def test_check_is_offline_and_heeds_only_what_the_lock_answers(project: Path) -> None:
    locked(project)
    before = (project / "serve.recipe.lock").read_bytes()
    edit(project, "# as its authors say", "# said otherwise")
    edit(project, "--trust-remote-code", "--enable-metrics")
    assert lock(project, "--check").code == 0

    edit(project, "serve:1", "serve:2")
    ran = lock(project, "--check")

    assert ran.code == 1
    assert ran.err.count("error[RCC610]") == 1
    assert "image `engine`" in ran.err
    assert "docker.io/library/serve:2" in ran.err
    assert "docker.io/library/serve:1" in ran.err
    assert "serve.recipe.toml:3" in ran.err
    assert (project / "serve.recipe.lock").read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "entry", "why"),
    [
        ('model = "spark/small"', 'model = "spark/other"', "model `model`", "spark/other"),
        ('model = "spark/small"', 'model = "spark/small"\nrevision = "dev"', "model `model`", "dev"),
        ('id = "engram"', 'id = "engram"\ntiling = "floor"', "staging `engram`", "`tiling` is `floor`"),
        ('id = "engram"', 'id = "engram"\ntensors = "x*"', "staging `engram`", "`tensors` is `x*`"),
        ("required_nodes = 2\ntensor_parallel_size = 2", "required_nodes = 1", "staging `engram`", "`world` is `1`"),
        ('id = "engram"', 'id = "other"', "staging `other`", "not in the lock"),
        ('docker_image = "serve:1"', 'docker_image = "serve:1"\nstaging_image = "s:1"', "image `staging`", "not in"),
    ],
)
def test_every_stale_entry_is_named_with_its_reason(project: Path, old: str, new: str, entry: str, why: str) -> None:
    locked(project)
    edit(project, old, new)

    ran = lock(project, "--check")

    assert ran.code == 1
    assert entry in ran.err
    assert why in ran.err


def test_what_the_block_only_does_with_the_data_stales_nothing(project: Path) -> None:
    locked(project)
    edit(project, 'dst = "/srv/engram"', 'dst = "/srv/other"\nmin_free = "1G"\nrate_limit = "1G"')

    assert lock(project, "--check").code == 0


def test_a_carried_file_is_compared_by_text_and_mode(project: Path) -> None:
    locked(project)
    (project / "run.sh").chmod(0o755)
    ran = lock(project, "--check")
    assert ran.code == 1
    assert "0755" in ran.err

    (project / "run.sh").chmod(0o654)  # the owner may not run it
    (project / "run.sh").write_text("#!/bin/sh\nexit\n")
    ran = lock(project, "--check")
    assert ran.code == 1
    assert "sha256" in ran.err
    assert "mode" not in ran.err


def test_a_carried_file_that_cannot_be_read_is_still_asked_for(project: Path) -> None:
    locked(project)
    (project / "run.sh").unlink()
    edit(project, "serve:1", "serve:2")
    cluster = str(RECIPES / "tables-by-lock" / "cluster.toml")
    for command in (["lint"], ["build", "-t", "shell", "-c", cluster]):
        ran = call_rcc(*command, "serve.recipe.toml", cwd=project)

        assert ran.code == 1
        assert "error[RCC701]: `run.sh` cannot be carried: no such file" in ran.err + ran.out
        assert "image `engine`" in ran.err + ran.out
        assert "any more" not in ran.err + ran.out


def test_an_entry_that_is_not_asked_for_any_more(project: Path) -> None:
    locked(project)
    edit(project, '[[extra_mounts]]\nhost = "run.sh"\ncontainer = "/run.sh"\n', "")
    assert "does not ask for it any more" in lock(project, "--check").err

    assert "dropped file run.sh" in lock(project, *SOURCES).out
    assert json.loads((project / "serve.recipe.lock").read_text())["files"] == {}
    assert lock(project, "--check").code == 0


def test_without_a_lock(project: Path) -> None:
    ran = lock(project, "--check")

    assert ran.code == 1
    assert "RCC611" in ran.err
    assert "rcc lock serve.recipe.toml" in ran.err
    assert lock(project, "--verify").code == 1


def test_without_a_recipe_all_builds_of_the_settings(project: Path) -> None:
    (project / "other").mkdir()
    (project / "other/recipe.toml").write_text('id = "other"\n' + RECIPE.replace('host = "run.sh"', 'host = "r.sh"'))
    (project / "other/r.sh").write_text("")
    (project / "rcc.toml").write_text(
        '[[build]]\nrecipe = "serve.recipe.toml"\nout = "a"\n[[build]]\nrecipe = "other/recipe.toml"\nout = "b"\n'
    )
    assert call_rcc("lock", *SOURCES, cwd=project).code == 0
    assert (project / "other/recipe.lock").exists()
    assert call_rcc("lock", "--check", cwd=project).code == 0
    (project / "other/r.sh").write_text("changed")

    ran = call_rcc("lock", "--check", "--json", cwd=project)

    assert ran.code == 1
    first, second = ran.json()["locks"]
    assert first["findings"] == []
    assert [one["code"] for one in second["findings"]] == ["RCC610"]


def test_no_plan_from_ranges_that_do_not_tile(project: Path) -> None:
    locked(project)
    nodes = "".join(f'[[nodes]]\nname = "n{n}"\nhost = "10.0.0.{n}"\n' for n in (1, 2))
    (project / "cluster.toml").write_text(f'name = "two"\nhf_cache = "/mnt/hf"\nhardware = "cuda"\n{nodes}')
    path = project / "serve.recipe.lock"
    for options in ((), ("--frozen",)):
        assert call_rcc("plan", "serve.recipe.toml", "--json", *options, cwd=project).code == 0
    values = json.loads(path.read_text())
    values["staging"]["engram"]["locked"]["ranks"][1]["1"][0] = 4
    path.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n")

    for options in ((), ("--frozen",)):
        ran = call_rcc("plan", "serve.recipe.toml", "--json", *options, cwd=project)
        assert ran.code == 1
        assert "RCC615" in ran.out
        assert "do not tile" in ran.out
