"""What a build refuses, as the command line says it: files that would be built into something else than they say."""

import re
from pathlib import Path

import pytest

from tests.support.cli import Ran, call_rcc
from tests.support.texts import FOUR_NODES, FOUR_RANKS

COMMIT = "a" * 40
BLOCK = re.compile(r"^(error|warning|info)\[(RCC\d+)\]: (.*)\n(?: +--> (\S+))?", re.MULTILINE)


def rcc(folder: Path, recipe: str, cluster: str | None = FOUR_NODES, *arguments: str, command: str = "build") -> Ran:
    """Calls a command with a recipe and a cluster file."""
    (folder / "r.toml").write_text(recipe)
    if cluster is not None:
        (folder / "cluster.toml").write_text(cluster)
    chosen = ("-c", "cluster.toml") if cluster else ()
    return call_rcc(command, "r.toml", *chosen, *arguments, cwd=folder)


def told(ran: Ran) -> list[str]:
    """The findings of a call, a line each: severity, code, place and message."""
    return [f"{level} {code} {place} {message}" for level, code, message, place in BLOCK.findall(ran.text)]


def refused(folder: Path, recipe: str, cluster: str | None = FOUR_NODES, *arguments: str) -> list[str]:
    """The errors of a build, each of which a linter with the same cluster tells too."""
    ran = rcc(folder, recipe, cluster, *arguments)
    assert ran.code == 1, ran.text
    errors = [line for line in told(ran) if line.startswith("error")]
    linted = told(rcc(folder, recipe, cluster, command="lint"))
    assert set(errors) <= set(linted), linted
    return [line.removeprefix("error ") for line in errors]


def test_a_further_model_never_takes_the_place_of_the_recipe_s_own(tmp_path: Path) -> None:
    further = f'revision = "{COMMIT}"\n[[models]]\nid = "model"\nmodel = "o/b"\nrevision = "{"b" * 40}"\n'

    assert refused(tmp_path, FOUR_RANKS + further) == [
        "RCC206 r.toml:9:6 `model` is the id of the recipe's own `model` already"
    ]


MOUNT = '[[extra_mounts]]\nhost = "/data/{0}"\ncontainer = "{1}"\n'


TAKEN = "`{}` in the container is taken already"
DEVICE = "`devices[0]` must be a device such as `/dev/fuse`, not `{}`"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('shm_size = "1g"\n' + MOUNT.format("a", "/dev/shm"), "RCC703 r.toml:10:13 " + TAKEN.format("/dev/shm")),
        (MOUNT.format("a", "/dev/infiniband"), "RCC703 r.toml:9:13 " + TAKEN.format("/dev/infiniband")),
        ('devices = ["/dev/a:/dev/c", "/dev/b:/dev/c:r"]', "RCC703 r.toml:7:29 " + TAKEN.format("/dev/c")),
        ('devices = ["/dev/x"]\n' + MOUNT.format("a", "/dev/x/"), "RCC703 r.toml:10:13 " + TAKEN.format("/dev/x")),
        ('devices = ["/dev/infiniband:/dev/infiniband:rwm"]', "RCC703 r.toml:7:12 " + TAKEN.format("/dev/infiniband")),
        ('devices = ["/a/../b"]', "RCC205 r.toml:7:12 " + DEVICE.format("/a/../b")),
        ('devices = ["/dev/a:/dev/b/"]', "RCC205 r.toml:7:12 " + DEVICE.format("/dev/a:/dev/b/")),
    ],
)
def test_two_things_at_one_path_of_a_container_are_refused(lines: str, expected: str, tmp_path: Path) -> None:
    assert refused(tmp_path, FOUR_RANKS + lines) == [expected]


def test_a_path_that_the_recipe_itself_takes_needs_no_cluster(tmp_path: Path) -> None:
    recipe = FOUR_RANKS + 'shm_size = "1g"\ndevices = ["/dev/x"]\n'
    ran = rcc(tmp_path, recipe + MOUNT.format("a", "/dev/shm/") + MOUNT.format("b", "/dev/x"), None, command="lint")

    assert [line for line in told(ran) if "RCC703" in line] == [
        "error RCC703 r.toml:11:13 " + TAKEN.format("/dev/shm"),
        "error RCC703 r.toml:14:13 " + TAKEN.format("/dev/x"),
    ]
