"""Files beside a recipe that artifacts carry, on a real disk: what may be one, and what may not."""

import os
from pathlib import Path

import pytest

from tests.support.cli import Ran, call_rcc

RECIPE = """\
id = "x"
engine = "custom"
docker_image = "localhost/x:1"
entrypoint = ["/x"]

[[extra_mounts]]
host = "{}"
container = "/x"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "recipe/sub").mkdir(parents=True)
    (tmp_path / "outside").write_text("secret")
    return tmp_path / "recipe"


def build(folder: Path, host: str) -> Ran:
    (folder / "recipe.toml").write_text(RECIPE.format(host))
    return call_rcc("build", folder, "-t", "shell", cwd=folder.parent)


def carried(folder: Path, path: str) -> Path:
    return folder.parent / "result/shell/localhost/files/carried" / path


@pytest.mark.parametrize("size", [0, 1 << 20])
def test_a_file_of_up_to_a_mebibyte_is_carried(folder: Path, size: int) -> None:
    (folder / "sub/a file").write_bytes(b"\xff" * size)
    ran = build(folder, "./sub/a file")

    assert ran.code == 0, ran.text
    assert carried(folder, "sub/a file").read_bytes() == b"\xff" * size


def test_a_link_within_the_folder_is_followed(folder: Path) -> None:
    (folder / "real").write_text("text")
    (folder / "real").chmod(0o755)
    (folder / "link").symlink_to("real")
    ran = build(folder, "link")

    assert ran.code == 0, ran.text
    assert carried(folder, "link").read_text() == "text"
    assert os.access(carried(folder, "link"), os.X_OK)


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("../outside", "`..` leads out of the recipe's folder"),
        ("sub/../../outside", "`..` leads out of the recipe's folder"),
        ("link", "it is a link that leads out of the recipe's folder"),
        ("round", "too many levels of symbolic links"),
        ("round/x", "too many levels of symbolic links"),
        ("linked/outside", "it is a link that leads out of the recipe's folder"),
        ("sub", "it is not a regular file"),
        ("pipe", "it is not a regular file"),
        ("large", "it has more than 1048576 bytes"),
        ("missing", "no such file or directory"),
    ],
)
def test_anything_else_is_refused_with_the_reason(folder: Path, host: str, why: str) -> None:
    (folder / "link").symlink_to("../outside")
    (folder / "linked").symlink_to("..")
    (folder / "large").write_bytes(b"x" * ((1 << 20) + 1))
    (folder / "round").symlink_to("round")
    os.mkfifo(folder / "pipe")
    ran = build(folder, host)

    assert ran.code == 1, ran.text
    assert f"error[RCC701]: `{host}` cannot be carried: {why}\n" in ran.err
    assert not (folder.parent / "result").exists()


def test_a_backslash_in_a_name_is_refused_where_the_name_stands(folder: Path) -> None:
    (folder / r"back\slash").touch()
    ran = build(folder, r"back\\slash")

    assert ran.code == 1, ran.text
    assert r"error[RCC701]: `back\slash` cannot be carried: its name holds a backslash" in ran.err
    assert "recipe.toml:7:8" in ran.err
