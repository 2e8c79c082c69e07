"""The shape of the code: who may import whom, how long a file may be, and what must not be left lying about."""

import ast
import re
import statistics
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

TREES = {"rcc": ROOT / "compiler/rcc", **{name: ROOT / "targets" / name for name in ("rcc_node", "rcc_targets")}}
FILES = sorted(path for tree in TREES.values() for path in tree.rglob("*.py"))
ALL_PYTHON = sorted({*FILES, *(ROOT / "schema").rglob("*.py"), *(ROOT / "tests").rglob("*.py")})
# A room imports itself and those before it.
ROOMS = (
    "quick", "source", "nearest", "codes", "diagnostic", "syntax", "recipe", "cluster", "lock", "engines", "hardware",
    "staging", "resolve", "plan", "emit", "lint", "fetch", "pipeline", "cli",
)  # fmt: skip
THIRD_PARTY = {
    "rcc": {"click", "httpx2", "huggingface_hub", "jinja2", "jsonschema", "lark", "rich", "tomli"},
    "rcc_node": set[str](),
    "rcc_targets": {"jinja2"},
}
OF_RCC_FOR_TARGETS = {"diagnostic", "emit", "plan", "quick", "source"}
# What would let the machine, the day or the network into an output.
OUTWARD = {
    "asyncio", "getpass", "http", "httpx2", "huggingface_hub", "locale", "platform", "pwd", "random",
    "secrets", "socket", "ssl", "subprocess", "time", "urllib", "uuid",
}  # fmt: skip
OUTWARD_ROOMS = {"cli", "emit", "fetch"}
ASKING = {"cwd", "environ", "expanduser", "getcwd", "getenv", "home", "now", "today"}
# Where the user's own folder of saved grammar tables is found.
CACHE = TREES["rcc"] / "syntax/grammar.py"
LARGEST = 24 * 1024


def imported(path: Path) -> set[str]:
    """Dotted names of all modules that a file imports; of `from rcc import x` that is `rcc.x`."""
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import hides the room"
            whole = node.module in TREES
            names |= {f"{node.module}.{alias.name}" for alias in node.names} if whole else {str(node.module)}
    return names


def attributes(path: Path) -> set[str]:
    return {node.attr for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Attribute)}


def tree_of(path: Path) -> str:
    return next(name for name, tree in TREES.items() if path.is_relative_to(tree))


def room_of(path: Path) -> str:
    return path.relative_to(TREES["rcc"]).parts[0].removesuffix(".py")


COMPILER = [path for path in FILES if tree_of(path) == "rcc" and path.parent.name + path.name != "rcc__init__.py"]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", COMPILER, ids=name)
def test_rooms_import_one_way(path: Path) -> None:
    allowed = {"__version__", *ROOMS[: ROOMS.index(room_of(path)) + 1]}

    assert {dotted.split(".")[1] for dotted in imported(path) if dotted.startswith("rcc.")} <= allowed


@pytest.mark.parametrize("path", COMPILER, ids=name)
def test_the_compiler_knows_no_target_and_of_the_node_its_layout_alone(path: Path) -> None:
    roots = {dotted: dotted.split(".")[0] for dotted in imported(path)}

    assert "rcc_targets" not in roots.values()
    of_the_node = {dotted for dotted, root in roots.items() if root == "rcc_node"}
    assert of_the_node <= ({"rcc_node.layout"} if room_of(path) == "staging" else set())


@pytest.mark.parametrize("path", [path for path in FILES if tree_of(path) == "rcc_targets"], ids=name)
def test_targets_know_plan_and_emit_alone(path: Path) -> None:
    assert {dotted.split(".")[1] for dotted in imported(path) if dotted.startswith("rcc.")} <= OF_RCC_FOR_TARGETS


@pytest.mark.parametrize("path", FILES, ids=name)
def test_only_dependencies_that_are_accounted_for(path: Path) -> None:
    roots = {dotted.split(".")[0] for dotted in imported(path)} - sys.stdlib_module_names
    ours = {"rcc_node"} if tree_of(path) == "rcc_node" else {"rcc", "rcc_node", "rcc_schema", "rcc_targets"}

    assert roots <= THIRD_PARTY[tree_of(path)] | ours


@pytest.mark.parametrize("path", [path for path in COMPILER if room_of(path) not in OUTWARD_ROOMS], ids=name)
def test_passes_look_at_their_input_alone(path: Path) -> None:
    assert not {dotted.split(".")[0] for dotted in imported(path)} & OUTWARD
    assert path == CACHE or not attributes(path) & ASKING


def test_files_are_small() -> None:
    lines = [path.read_text().count("\n") for path in ALL_PYTHON if path.name != "__init__.py"]

    assert statistics.median(lines) < 100
    assert not [name(path) for path in ALL_PYTHON if path.stat().st_size > LARGEST]


@pytest.mark.parametrize("path", ALL_PYTHON, ids=name)
def test_nothing_is_left_for_later(path: Path) -> None:
    later = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")

    assert path.samefile(__file__) or not later.search(path.read_text())
