"""A lock is written whole or not at all, and to the same bytes everywhere."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.checkpoints import Content, sharded, table
from tests.support.cli import PATH, call_rcc, clean_env, run_rcc
from tests.support.hf_cache import write_cache
from tests.support.hub import Hub
from tests.support.locks import RECIPE, REPO, SOURCES, edit, lock, locked, make_project, small_hub
from tests.support.server import Reply, Server
from tests.support.skips import needs_root
from tests.support.wait import wait_for


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


@pytest.fixture
def hub() -> Iterator[Hub]:
    with small_hub() as running:
        yield running


def test_a_lock_names_nothing_of_this_machine(project: Path) -> None:
    locked(project)

    text = (project / "serve.recipe.lock").read_text()
    assert str(project) not in text
    assert "cache" not in text
    assert "layout:" not in text


def test_a_lock_is_written_again_to_the_same_bytes(project: Path) -> None:
    locked(project)
    path = project / "serve.recipe.lock"
    before, node = path.read_bytes(), path.stat().st_ino

    assert lock(project, *SOURCES).code == 0
    assert path.stat().st_ino == node  # nothing changed, so it is not written
    path.unlink()
    locked(project)
    assert path.read_bytes() == before


def test_the_mode_of_the_old_lock_is_kept_and_links_are_followed(project: Path) -> None:
    real = project / "elsewhere.lock"
    locked(project)
    (project / "serve.recipe.lock").rename(real)
    real.chmod(0o640)
    (project / "serve.recipe.lock").symlink_to(real)
    edit(project, "serve:1", "serve:2")

    locked(project)

    assert (project / "serve.recipe.lock").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert lock(project, "--check").code == 0


def test_a_failure_leaves_the_old_lock(project: Path) -> None:
    locked(project)
    before = (project / "serve.recipe.lock").read_bytes()
    edit(project, "serve:1", "serve:9")
    edit(project, '"spark/small"', '"spark/none"')

    ran = lock(project, *SOURCES)

    assert ran.code == 1
    assert "RCC1208" in ran.err
    assert "RCC1216" in ran.err  # every problem in one run
    assert ran.out == ""
    assert (project / "serve.recipe.lock").read_bytes() == before
    assert sorted(path.name for path in project.iterdir() if "lock" in path.name) == ["serve.recipe.lock"]


@pytest.mark.parametrize("text", ["<<<<<<< HEAD\n", "{}", '{"version": 9}', "{", ""])
def test_a_lock_that_cannot_be_read_is_explained_and_left(project: Path, text: str) -> None:
    (project / "serve.recipe.lock").write_text(text)

    for ran in (lock(project, "--check"), lock(project, *SOURCES)):
        assert ran.code == 1
        assert "serve.recipe.lock" in ran.err
        assert "help:" in ran.err
    assert (project / "serve.recipe.lock").read_text() == text


def test_two_clones_lock_to_the_same_bytes(project: Path, hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> None:
    texts = []
    for number, env in enumerate(({"TZ": "UTC"}, {"TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"})):
        clone = tmp_path_factory.mktemp(f"clone{number}")
        (clone / "deeper").mkdir()
        (clone / "deeper/serve.recipe.toml").write_text(RECIPE)
        (clone / "deeper/run.sh").write_text("#!/bin/sh\n")
        old = os.umask(0o077 if number else 0o022)
        ran = run_rcc(
            "lock",
            "deeper/serve.recipe.toml",
            "--image-from",
            f"oci:{project}/layout",
            cwd=clone,
            env={**hub.environ, **env},
        )
        os.umask(old)
        assert ran.code == 0, ran.text
        texts.append((clone / "deeper/serve.recipe.lock").read_bytes())

    assert texts[0] == texts[1]
    locked(project)
    assert (project / "serve.recipe.lock").read_bytes() == texts[0]


def test_a_killed_run_leaves_the_old_lock(project: Path) -> None:
    locked(project)
    before = (project / "serve.recipe.lock").read_bytes()
    edit(project, '"spark/small"', '"spark/other"')
    with Server(lambda asked: Reply(hang=True)) as server:
        command = [sys.executable, str(Path(sys.executable).with_name("rcc")), "lock", "serve.recipe.toml"]
        env = clean_env(project, {"HF_ENDPOINT": server.url})
        process = subprocess.Popen(command, cwd=project, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(lambda: server.asked, "the first request")
        process.send_signal(signal.SIGKILL)
        process.communicate()

    assert process.returncode == -signal.SIGKILL
    assert (project / "serve.recipe.lock").read_bytes() == before
    assert [path.name for path in project.iterdir() if "lock" in path.name] == ["serve.recipe.lock"]


@needs_root
def test_a_full_disk_leaves_the_old_lock(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    small = tmp_path_factory.mktemp("small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], check=True, env={"PATH": PATH})
    try:
        (small / "serve.recipe.toml").write_text(RECIPE)
        (small / "run.sh").write_text("#!/bin/sh\n")
        sources = ("--image-from", f"oci:{project}/layout", "--model-from", f"cache:{project}/cache")
        assert call_rcc("lock", "serve.recipe.toml", *sources, cwd=small).code == 0
        before = (small / "serve.recipe.lock").read_bytes()
        files = {f"text/{number:04}": Content.of(b"%d" % number) for number in range(500)}
        write_cache(
            project / "cache", REPO, {**sharded({"model.safetensors": table(1, 9)}), **files}, "classic", "c" * 40
        )
        (project / "cache/models--spark--small/refs/main").write_text("c" * 40)

        ran = call_rcc("lock", "serve.recipe.toml", "--upgrade", *sources, cwd=small)

        assert ran.code == 1
        assert "RCC617" in ran.err
        assert "no space left" in ran.err
        assert (small / "serve.recipe.lock").read_bytes() == before
        assert sorted(path.name for path in small.iterdir()) == ["run.sh", "serve.recipe.lock", "serve.recipe.toml"]
    finally:
        subprocess.run(["umount", small], check=True, env={"PATH": PATH})


def test_a_folder_that_may_not_be_written(project: Path) -> None:
    locked(project)
    edit(project, "serve:1", "serve:2")
    (project / "serve.recipe.lock").unlink()
    (project / "serve.recipe.lock").mkdir()

    ran = lock(project, *SOURCES)

    assert ran.code == 2
    assert "RCC007" in ran.err
