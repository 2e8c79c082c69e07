"""The same inputs give the same bytes on any machine, on any day, for anyone, and tell nothing about them."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.cli import PATH
from tests.support.paths import RECIPES
from tests.support.skips import needs, needs_root

FOLDERS = sorted(path.parent for path in RECIPES.glob("*/recipe.toml"))
assert FOLDERS


@dataclass(frozen=True, slots=True)
class World:
    """Everything that must not matter."""

    folder: str
    host: str
    clock: str
    umask: str
    env: Mapping[str, str]


WORLDS = (
    World(
        folder="here",
        host="firsthost",
        clock="2001-02-03 04:05:06",
        umask="077",
        env={"PYTHONHASHSEED": "1", "TZ": "Pacific/Chatham", "LC_ALL": "C", "LOGNAME": "firstuser", "COLUMNS": "20"},
    ),
    World(
        folder="over there/with a blank",
        host="secondhost",
        clock="2031-12-30 23:59:58",
        umask="000",
        env={"PYTHONHASHSEED": "2", "TZ": "America/Lima", "LC_ALL": "C.UTF-8", "LOGNAME": "seconduser", "CI": "true"},
    ),
)


def built(recipe: Path, world: World, tmp_path: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and bytes of every file of a build in one world."""
    place = tmp_path / world.folder
    shutil.copytree(recipe, place / "recipe")
    rcc = [sys.executable, str(Path(sys.executable).with_name("rcc"))]
    in_world = f'hostname {world.host} && umask {world.umask} && exec faketime "$0" "$@"'
    words = ["unshare", "--uts", "sh", "-c", in_world, world.clock, *rcc, "build", "recipe", "--copy", "-o", "out"]
    env = {"PATH": PATH, "HOME": str(place / f"home-of-{world.env['LOGNAME']}"), **world.env}
    done = subprocess.run(words, cwd=place, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    files = [path for path in (place / "out").rglob("*") if path.is_file()]
    return {str(path.relative_to(place / "out")): (path.stat().st_mode, path.read_bytes()) for path in files}


@needs("faketime", "unshare", "hostname")
@needs_root
@pytest.mark.parametrize("recipe", FOLDERS, ids=lambda path: path.name)
def test_nothing_of_the_world_reaches_an_artifact(recipe: Path, tmp_path: Path) -> None:
    first, second = (built(recipe, world, tmp_path) for world in WORLDS)

    assert first == second
    tell_tale = [text.encode() for world in WORLDS for text in (world.host, world.env["LOGNAME"], world.clock[:10])]
    for name, (_, data) in first.items():
        assert not [text for text in (str(tmp_path).encode(), *tell_tale) if text in data], name
