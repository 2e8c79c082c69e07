"""The parser's tables are kept only where nobody else can write."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.skips import require

PROGRAM = "from rcc.syntax.tree import parse; print(parse('a = [1]').values())"


def parse_with(environment: dict[str, str]) -> None:
    """A fresh process parses a text."""
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=True)
    assert (run.stdout, run.stderr) == ("{'a': [1]}\n", "")


def tables(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "HOME"])
def test_tables_are_kept_for_the_user_alone_and_used_again(tmp_path: Path, variable: str) -> None:
    environment = {variable: str(tmp_path)}
    parse_with(environment)
    folder = tmp_path / "rcc" if variable == "XDG_CACHE_HOME" else tmp_path / ".cache" / "rcc"
    assert folder.stat().st_mode & 0o777 == 0o700
    (kept,) = folder.iterdir()
    before = kept.stat().st_mtime_ns
    parse_with(environment)
    assert tables(folder) == [kept.name]
    assert kept.stat().st_mtime_ns == before


def test_broken_tables_are_built_again(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    parse_with(environment)
    (kept,) = (tmp_path / "rcc").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2])
    parse_with(environment)


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "rcc"
    folder.mkdir()
    folder.chmod(0o777)
    parse_with({"XDG_CACHE_HOME": str(tmp_path)})
    assert tables(folder) == []


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "rcc").symlink_to("elsewhere")
    parse_with({"XDG_CACHE_HOME": str(tmp_path)})
    assert tables(tmp_path / "elsewhere") == []


def test_another_user_s_folder_is_not_used(tmp_path: Path) -> None:
    require(root=True)
    folder = tmp_path / "rcc"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    parse_with({"XDG_CACHE_HOME": str(tmp_path)})
    assert tables(folder) == []


@pytest.mark.parametrize("cache", ["relative", "/dev/null"])
def test_without_a_folder_the_tables_are_built(cache: str) -> None:
    parse_with({"XDG_CACHE_HOME": cache, "HOME": "/dev/null"})
