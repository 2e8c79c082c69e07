"""What rcc wrote and reads again may have been changed by hands and disks: told, never tripped over."""

import copy
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import call_rcc
from tests.support.paths import RECIPES

NAME = "2026-01-31_120000_a"
VALUES = (None, [1], "../x", "half a pair: \ud800")


@pytest.fixture
def hello(tmp_path: Path) -> Path:
    """A recipe that was built, and frozen with figures."""
    shutil.copytree(RECIPES / "hello", tmp_path / "hello")
    (tmp_path / "bench.json").write_text('{"tokens": 1}')
    freeze = ("freeze", "hello", "--label", "a", "--at", "2026-01-31T12:00:00Z", "--bench", "bench.json", "-t", "shell")
    assert call_rcc("build", "hello", "-t", "shell", "--copy", cwd=tmp_path).code == 0
    assert call_rcc("build", "hello", "-t", "shell", "-o", "link", cwd=tmp_path).code == 0
    assert call_rcc(*freeze, cwd=tmp_path).code == 0
    return tmp_path


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def edited(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Other values, and the value with another one in each of its places, or without it."""
    others: list[Any] = [None, [], {}, "x", 5]
    yield from (((), other) for other in others)
    for path in filter(None, places(value)):
        changed = copy.deepcopy(value)
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        for new in VALUES:
            inner[path[-1]] = new
            yield path, changed
        del inner[path[-1]]
        yield path, changed


@pytest.mark.parametrize(
    ("file", "commands"),
    [
        ("result/manifest.json", [["verify"], ["diff", "link", "result"]]),
        (f"reports/{NAME}/report.json", [["reproduce", f"reports/{NAME}"], ["reports"]]),
        (".rcc/links.json", [["rollback", "-o", "link"], ["gc"]]),
    ],
)
def test_a_record_that_somebody_edited_is_no_bug(file: str, commands: list[list[str]], hello: Path) -> None:
    path = hello / file
    path.chmod(0o644)
    original = json.loads(path.read_text())
    for where, value in edited(original):
        path.write_text(json.dumps(value))
        for command in commands:
            ran = call_rcc(*command, cwd=hello)
            assert ran.code in (0, 1, 2), (where, value, ran.text)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\x00", '{"version": NaN}', '"\\ud800"'])
@pytest.mark.parametrize(
    ("file", "command", "code"),
    [
        ("result/manifest.json", ["verify"], "RCC1104"),
        (f"reports/{NAME}/report.json", ["reproduce", f"reports/{NAME}"], "RCC1116"),
        (".rcc/links.json", ["rollback", "-o", "link"], "RCC1104"),
    ],
)
def test_what_is_no_record_says_so(file: str, command: list[str], code: str, text: str, hello: Path) -> None:
    (hello / file).chmod(0o644)
    (hello / file).write_text(text)
    ran = call_rcc(*command, cwd=hello)

    assert ran.code in (1, 2)
    assert code in ran.err


def test_a_plan_that_is_not_the_one_with_its_hash_tells_nothing(hello: Path) -> None:
    recipe = hello / "hello/recipe.toml"
    recipe.write_text(recipe.read_text() + '\nMORE = "1"\n')
    assert call_rcc("build", "hello", "-t", "shell", "-o", "other", cwd=hello).code == 0
    assert "env.MORE" in call_rcc("diff", "link", "other", cwd=hello).out
    for plan in (hello / ".rcc/plans").iterdir():
        plan.write_text(plan.read_text().replace('"ranks"', '"r"'))
    ran = call_rcc("diff", "link", "other", cwd=hello)

    assert ran.code == 1
    assert "env.MORE" not in ran.out
