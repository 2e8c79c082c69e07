"""`rcc verify`: a result against its manifest, and the machine against the result."""

import shutil
import subprocess
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.support import checkpoint
from tests.support.cli import Ran, call_rcc
from tests.support.paths import RECIPES

HELLO = RECIPES / "hello"


@pytest.fixture
def result(tmp_path: Path) -> Path:
    """A result in its store."""
    assert call_rcc("build", HELLO, "-t", "compose,shell", cwd=tmp_path).code == 0
    return tmp_path / "result"


def verify(folder: Path, *arguments: str) -> Ran:
    return call_rcc("verify", folder.name, *arguments, cwd=folder.parent)


def findings(ran: Ran) -> list[tuple[str, str]]:
    return [(one["name"], one["file"]) for one in ran.json()["findings"]]


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    mode = path.stat().st_mode
    path.chmod(0o644)
    path.write_bytes(data)
    path.chmod(mode)


def test_a_result_as_it_was_built_is_verified(result: Path) -> None:
    ran = verify(result)

    assert ran.code == 0, ran.text
    assert "result is sha256:" in ran.out


@pytest.mark.parametrize("copy", [False, True])
def test_one_flipped_byte_in_any_artifact_is_found(result: Path, copy: bool) -> None:
    if copy:
        shutil.copytree(result, result.parent / "plain")
        result = result.parent / "plain"
    artifacts = [path for path in files(result) if path != "manifest.json"]
    assert len(artifacts) > 5
    for path in artifacts:
        size = (result / path).stat().st_size
        for at in {0, size // 2, size - 1}:
            flip(result / path, at)
            ran = verify(result, "--json")
            assert ran.code == 1
            assert ("changed-artifact", f"{result.name}/{path}") in findings(ran), path
            flip(result / path, at)
    assert verify(result).code == 0


def test_one_flipped_byte_in_the_manifest_of_a_store_is_found(result: Path) -> None:
    data = (result / "manifest.json").read_bytes()
    for at in range(0, len(data), 97):
        flip(result / "manifest.json", at)
        assert verify(result).code in (1, 2), at
        flip(result / "manifest.json", at)
    assert verify(result).code == 0


def test_extra_missing_replaced_and_a_changed_mode_are_named(result: Path) -> None:
    run = result / "shell/localhost/run.sh"
    (result / "shell/new.sh").write_text("")
    (result / "shell/empty").mkdir()
    (result / "shell/cluster.sh").unlink()
    (result / "compose/localhost/compose.yaml").unlink()
    (result / "compose/localhost/compose.yaml").symlink_to("/dev/null")
    run.chmod(0o755)
    ran = verify(result, "--json")

    assert ran.code == 1
    assert set(findings(ran)) == {
        ("extra-file", "result/shell/new.sh"),
        ("extra-file", "result/shell/empty"),
        ("missing-artifact", "result/shell/cluster.sh"),
        ("changed-artifact", "result/compose/localhost/compose.yaml"),
        ("changed-mode", "result/shell/localhost/run.sh"),
    }


def test_a_result_that_was_committed_and_checked_out_is_verified(result: Path, tmp_path: Path) -> None:
    repository, clone = tmp_path / "repository", tmp_path / "clone"
    shutil.copytree(result, repository / "deploy")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(repository)]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "deploy"]):
        subprocess.run([*git, *words], check=True)
    subprocess.run(["git", "clone", "-q", repository, clone], check=True, umask=0o002)

    assert verify(clone / "deploy").code == 0
    (clone / "deploy/shell/localhost/run.sh").chmod(0o644)
    assert verify(clone / "deploy").code == 1


@pytest.mark.parametrize("kind", ["nothing", "empty folder", "no JSON", "another version"])
def test_what_is_no_result_is_said(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "result"
    if kind != "nothing":
        folder.mkdir()
    if kind in ("no JSON", "another version"):
        (folder / "manifest.json").write_text("{" if kind == "no JSON" else '{"version": 99}')
    ran = verify(folder)

    assert ran.code == 2
    assert ("RCC1103" if kind in ("nothing", "empty folder") else "RCC1104") in ran.err
    assert ("`99`" in ran.err) == (kind == "another version")


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A locked result for four nodes, and this machine made the node of rank 1: cache, staged rows, image."""
    recipe = tmp_path / "recipe"
    shutil.copytree(RECIPES / "tables-by-lock", recipe)
    made = checkpoint.make(tmp_path)
    text = (recipe / "cluster.toml").read_text()
    text = text.replace("/mnt/nas/ai/huggingface", str(made.cache)).replace("/home/spark", str(tmp_path / "nvme"))
    (recipe / "cluster.toml").write_text(text)
    (tmp_path / "nvme").mkdir()
    assert call_rcc("build", recipe, "-t", "shell", "--locked", cwd=tmp_path).code == 0
    staged = call_rcc("stage", recipe, "--rank", "1", cwd=tmp_path)
    assert staged.code == 0, staged.text
    return tmp_path


def on_node(folder: Path, *arguments: str, digests: str | None = None) -> Ran:
    """`rcc verify` where docker knows the image by these repository digests: by default the right one."""
    digest = '"$(printf %s "$5" | sed "s/.*@//")"'
    docker = folder / "docker"
    said = (
        f"printf '[\"registry.example.com/llm/sglang-rows@%s\"]\\n' {digest}"
        if digests is None
        else f"echo '{digests}'"
    )
    docker.write_text(f"#!/bin/sh\n[ \"$1 $2\" = 'image inspect' ] || exit 9\n{said}\n")
    docker.chmod(0o755)
    return call_rcc("verify", "--rank", "1", *arguments, cwd=folder, env={"RCC_DOCKER": str(docker)})


def test_a_node_with_everything_on_it_is_verified(node: Path) -> None:
    for options in ([], ["--full"]):
        ran = on_node(node, *options)
        assert ran.code == 0, ran.text
        assert "so is the node of rank 1" in ran.out


def test_a_rank_that_the_result_does_not_have_is_not_verified(node: Path) -> None:
    for rank in ("4", "-1"):
        assert call_rcc("verify", "--rank", rank, cwd=node).code == 2


def test_a_node_part_that_says_nothing_more_is_told_by_its_last_line(node: Path) -> None:
    with patch("rcc.cli.node.sys.executable", "/bin/false"):
        ran = on_node(node)

    assert ran.code == 1
    assert "error[RCC1117]: the node's part failed\n" in ran.err


def test_an_image_is_known_by_its_repository_digests_alone(node: Path) -> None:
    ran = on_node(node, digests="[]")

    assert ran.code == 1
    assert "is not here as sha256:" in ran.err
    assert f"{node}/docker pull registry.example.com/llm/sglang-rows@sha256:" in ran.err


def snapshot(node: Path) -> Path:
    return next((node).glob("*/hub/models--acme--tables/snapshots/*"))


def test_a_changed_small_file_of_the_snapshot_is_found_by_its_bytes_and_a_missing_one(node: Path) -> None:
    path = (snapshot(node) / "config.json").resolve()
    flip(path, 3)
    (snapshot(node) / "model.safetensors.index.json").unlink()
    ran = on_node(node)

    assert ran.code == 1
    assert "`config.json` of model `acme/tables` has other bytes" in ran.err
    assert "`model.safetensors.index.json` of model `acme/tables` cannot be read" in ran.err


def test_another_cache_is_looked_at_when_it_is_named(node: Path) -> None:
    ran = on_node(node, "--hf-cache", "/nowhere")

    assert ran.code == 1
    assert "cannot be read" in ran.err


def test_staged_rows_that_changed_are_found(node: Path) -> None:
    staged = sorted((node / "nvme/engram").glob("*.safetensors"))
    assert staged
    for path in staged:
        path.write_bytes(b"\xff" * path.stat().st_size)
    ran = on_node(node, "--full")

    assert ran.code == 1
    assert "is damaged" in ran.err


def test_rows_of_another_rank_are_not_this_rank_s(node: Path) -> None:
    ran = call_rcc("verify", "--rank", "0", cwd=node, env={"RCC_DOCKER": "/bin/false"})

    assert ran.code == 1
    assert "is not staged" in ran.err
