"""Values that a key does not take: what is wrong with each, and a help that leads to one that it takes."""

from pathlib import Path

import pytest

from tests.support.cli import call_rcc
from tests.support.texts import CUSTOM

CHECK = "[healthcheck]\ninterval = {}\n"


def linted(folder: Path, text: str, *options: str) -> list[str]:
    """What `rcc lint` says of a recipe as errors, a line each, without the place."""
    (folder / "r.toml").write_text(text)
    found = call_rcc("lint", "r.toml", "--format", "json", *options, cwd=folder).json()["findings"]
    return [f"{one['code']} {one['message']} | {one['help']}" for one in found if one["severity"] == "error"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "stop_grace = 90",
            'RCC202 `stop_grace` must be a string, not an integer | write it with its unit, in quotes: `"90s"`',
        ),
        (
            'stop_grace = "90"',
            "RCC205 `stop_grace` must be a duration such as `90s` or `45m`, not `90` | did you mean `90s`?",
        ),
        (
            CHECK.format('"1500ms"'),
            "RCC205 `healthcheck.interval` must be whole seconds, not `1500ms` | did you mean `2s`?",
        ),
        (CHECK.format('"0s"'), "RCC203 `healthcheck.interval` must be at least 1s, not `0s` | write `1s`"),
        (CHECK.format('"500ms"'), "RCC203 `healthcheck.interval` must be at least 1s, not `500ms` | write `1s`"),
    ],
)
def test_a_duration_that_cannot_be_is_told_with_one_that_can(line: str, expected: str, tmp_path: Path) -> None:
    assert linted(tmp_path, f"{CUSTOM}port = 1\n{line}\n") == [expected]


@pytest.mark.parametrize(("written", "mended"), [("90", '"90s"'), ('"90"', '"90s"'), ('"1500ms"', '"2s"')])
def test_the_fix_of_a_duration_is_one(written: str, mended: str, tmp_path: Path) -> None:
    assert linted(tmp_path, f"{CUSTOM}stop_grace = {written}\n", "--fix", "--unsafe-fixes") == []
    assert (tmp_path / "r.toml").read_text() == f"{CUSTOM}stop_grace = {mended}\n"


def test_docker_s_units_are_taken(tmp_path: Path) -> None:
    recipe = CUSTOM + 'stop_grace = "1m29s1000ms"\n[healthcheck]\ninterval = "90000ms"\ntimeout = "30000000us"\n'
    (tmp_path / "r.toml").write_text(recipe.replace("[health", "port = 1\n[health"))
    (rank,) = call_rcc("plan", "r.toml", "--json", cwd=tmp_path).json()["ranks"]

    assert rank["container"]["stop_grace"] == 90
    assert (rank["container"]["healthcheck"]["interval"], rank["container"]["healthcheck"]["timeout"]) == (90, 30)
