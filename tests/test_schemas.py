"""The published schemas: what they refuse the readers refuse, and editors can use them."""

import copy
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from rcc.cluster.keys import CLUSTER_SHAPE
from rcc.recipe.keys import RECIPE_SHAPE
from rcc.recipe.shape import Problems
from rcc_schema import load
from tests.support.pages import completed, examples
from tests.support.paths import CASES, RECIPES, SHARED

SHAPES = {"recipe": RECIPE_SHAPE, "cluster": CLUSTER_SHAPE}
VALIDATORS = {name: Draft7Validator(load(name)) for name in SHAPES}
TAPLO = Path(sys.executable).with_name("taplo")


def kind(text: str) -> str:
    return "cluster" if "[[nodes]]" in text or "nodes = " in text else "recipe"


def texts() -> list[str]:
    """Every recipe and cluster file at hand that is TOML."""
    files = [*CASES.glob("*.toml"), *RECIPES.glob("*/*.toml"), *(SHARED / "seed").glob("*.toml")]
    found = [path.read_text() for path in sorted(files)]
    for one in (*examples("Example"), *examples("Use instead")):
        found += [block.text if block.name == "cluster.toml" else completed(block.text) for block in one.blocks]
    return [text for text in found if _is_toml(text)]


def _is_toml(text: str) -> bool:
    try:
        tomli.loads(text)
    except tomli.TOMLDecodeError:
        return False
    return True


DOCUMENTS = [(kind(text), tomli.loads(text)) for text in texts()]
assert len({name for name, _ in DOCUMENTS}) == 2


def accepted(name: str, values: Any) -> bool:
    problems: Problems = []
    SHAPES[name](values, (), problems)
    return not problems


def refusals(name: str, values: Any) -> list[str]:
    return [f"{list(error.absolute_path)}: {error.message}" for error in VALIDATORS[name].iter_errors(values)]


@pytest.mark.parametrize("name", SHAPES)
def test_schemas_are_schemas_that_tell_about_every_key(name: str) -> None:
    schema = load(name)
    Draft7Validator.check_schema(schema)

    def untold(part: Any, path: str) -> list[str]:
        if isinstance(part, list):
            return [found for number, one in enumerate(part) for found in untold(one, f"{path}[{number}]")]
        if not isinstance(part, dict):
            return []
        found = []
        for key, one in part.get("properties", {}).items() if isinstance(part.get("properties"), dict) else ():
            found += [] if "description" in one else [f"{path}.{key}"]
        return found + [deeper for key, one in part.items() for deeper in untold(one, f"{path}.{key}")]

    assert untold(schema, name) == []


@pytest.mark.parametrize(("name", "values"), DOCUMENTS)
def test_what_a_reader_accepts_its_schema_accepts(name: str, values: Any) -> None:
    if accepted(name, values):
        assert refusals(name, values) == []


NUMBERS: list[Any] = [None, True, False, 0, 1, -1, 2, 65535, 65536, 2**70, 1.0, 0.5, float("nan")]
WORDS = [
    "",
    "a",
    "A",
    "a\n",
    "\n",
    "\0",
    "ä",
    "١gb",
    "1gb",
    "1 GiB",
    "1.5m",
    "90s",
    "1h30m",
    "auto",
    "nccl",
    "mp",
    "latest",
]
PATHS = ["/a", "/a/../b", "//a", "/", "~", "~/x", "a/b", "a//b", "user@host:22", "user@host:٢", "10.0.0.1", "x=y", "a-"]
LISTS: list[Any] = [[], [""], ["a"], [1], [[]], [{}], [{"name": "n"}], [{"name": "n"}, {"name": 1}]]
TABLES: list[Any] = [{}, {"a": "b"}, {"": ""}, {"soft": 1, "hard": 2}, {"soft": 1}, {"x": {}}]
ODD: list[Any] = [*NUMBERS, *WORDS, *PATHS, "0" * 64, "0" * 40, "a" * 41, *LISTS, *TABLES]
NEW_KEYS = ["x", "", "engine", "env", "a.b", "é", "A=B", "nofile", "NOFILE", "0"]


def changed(values: Any, chance: random.Random) -> Any:
    """Values with one of them replaced by an odd one, removed, or a key added or renamed."""
    values = copy.deepcopy(values)
    inner = [
        (table, key)
        for table in _containers(values)
        for key in (table if isinstance(table, dict) else range(len(table)))
    ]
    for _ in range(chance.randint(1, 3)):
        table, key = chance.choice(inner)
        if isinstance(table, dict) and key in table and chance.random() < 0.2:
            table[chance.choice(NEW_KEYS)] = table.pop(key) if chance.random() < 0.5 else chance.choice(ODD)
        elif isinstance(table, dict) and key in table and chance.random() < 0.2:
            del table[key]
        elif isinstance(table, dict) or key < len(table):
            table[key] = copy.deepcopy(chance.choice(ODD))
    return values


def _keys(table: Any) -> list[Any]:
    return list(table) if isinstance(table, dict) else list(range(len(table)))


def _containers(values: Any) -> list[Any]:
    if not isinstance(values, dict | list):
        return []
    inside = values.values() if isinstance(values, dict) else values
    return [*([values] if values else []), *(found for one in inside for found in _containers(one))]


@given(st.integers(0, 2**32))
@example(0)
def test_so_it_is_with_values_that_nobody_would_write(seed: int) -> None:
    chance = random.Random(seed)
    name, values = chance.choice(DOCUMENTS)
    odd = changed(values, chance)

    if accepted(name, odd):
        assert refusals(name, odd) == []


@pytest.mark.parametrize("name", SHAPES)
def test_each_property_takes_what_its_reader_takes(name: str) -> None:
    """Every odd value at every key of the top level, and one level below."""
    base: dict[str, Any] = next(values for kind, values in DOCUMENTS if kind == name and accepted(name, values))
    seen = 0
    for key in load(name)["properties"]:
        for value in ODD:
            odd = {**base, key: value}
            if accepted(name, odd):
                seen += 1
                assert refusals(name, odd) == [], (key, value)
    assert seen > 50


def taplo(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TAPLO, "lint", name], cwd=folder, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("name", SHAPES)
def test_taplo_reads_the_schema_that_a_file_names(name: str, tmp_path: Path) -> None:
    """taplo is what the editors' extensions for TOML are made of."""
    from rcc_schema import text

    (tmp_path / "schema.json").write_text(text(name))
    directive = "#:schema ./schema.json\n"
    good = (CASES / ("ok-four-nodes.toml" if name == "recipe" else "ok-cluster.toml")).read_text()
    (tmp_path / "good.toml").write_text(directive + good)
    ran = taplo(tmp_path, "good.toml")
    assert ran.returncode == 0, ran.stderr

    slips = {"recipe": ("required_nodes = 4", "required_nodes = 0", "minimum")}
    slips["cluster"] = ("ssh_user", "ssh_usr", "ssh_usr")
    old, new, told = slips[name]
    (tmp_path / "bad.toml").write_text(directive + good.replace(old, new))
    ran = taplo(tmp_path, "bad.toml")
    assert ran.returncode != 0
    assert told in ran.stderr
