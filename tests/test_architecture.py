"""The shape of the code: who may import whom, how long a file may be, and what must not be left lying about."""

import ast
import re
import statistics
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tests.support.paths import ROOT

TREES = {"rcc": ROOT / "compiler/rcc", **{name: ROOT / "targets" / name for name in ("rcc_node", "rcc_targets")}}
FILES = sorted(path for tree in TREES.values() for path in tree.rglob("*.py"))
ALL_PYTHON = sorted({*FILES, *(ROOT / "schema").rglob("*.py"), *(ROOT / "tests").rglob("*.py")})
# A room imports itself and those before it.
ROOMS = (
    "quick", "own_cache", "source", "nearest", "codes", "diagnostic", "syntax", "recipe", "cluster", "lock", "engines",
    "hardware", "staging", "resolve", "plan", "emit", "lint", "fetch", "pipeline", "cli",
)  # fmt: skip
THIRD_PARTY = {
    "rcc": {"click", "httpx2", "huggingface_hub", "jinja2", "jsonschema", "lark", "rich", "tomli"},
    "rcc_node": set[str](),
    "rcc_targets": {"jinja2"},
}
OF_RCC_FOR_TARGETS = {"own_cache", "diagnostic", "emit", "plan", "quick", "source"}
# What would let the machine, the day or the network into an output.
OUTWARD = {
    "asyncio", "getpass", "http", "httpx2", "huggingface_hub", "locale", "platform", "pwd", "random",
    "secrets", "socket", "ssl", "subprocess", "time", "urllib", "uuid",
}  # fmt: skip
OUTWARD_ROOMS = {"cli", "emit", "fetch"}
ASKING = {"cwd", "environ", "expanduser", "getcwd", "getenv", "home", "now", "today"}
# Where the user's own folder of saved grammar tables and templates is found.
CACHE = TREES["rcc"] / "own_cache.py"
LARGEST = 24 * 1024


@cache
def imported(path: Path) -> frozenset[str]:
    """Dotted names of all modules that a file imports; of `from rcc import x` that is `rcc.x`."""
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import hides the room"
            whole = node.module in TREES
            names |= {f"{node.module}.{alias.name}" for alias in node.names} if whole else {str(node.module)}
    return frozenset(names)


def rooms_imported(path: Path) -> set[str]:
    return {dotted.split(".")[1] for dotted in imported(path) if dotted.startswith("rcc.")}


def roots_imported(path: Path) -> set[str]:
    return {dotted.split(".")[0] for dotted in imported(path)}


def attributes(path: Path) -> set[str]:
    return {node.attr for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Attribute)}


def tree_of(path: Path) -> str:
    return next(name for name, tree in TREES.items() if path.is_relative_to(tree))


def room_of(path: Path) -> str:
    return path.relative_to(TREES["rcc"]).parts[0].removesuffix(".py")


COMPILER = [path for path in FILES if tree_of(path) == "rcc" and path != TREES["rcc"] / "__init__.py"]
OF_TARGETS = [path for path in FILES if tree_of(path) == "rcc_targets"]


def offenders(paths: list[Path], too_much: Callable[[Path], set[str]]) -> dict[str, set[str]]:
    """What is too much, by the name of the file; nothing where all is well."""
    assert paths
    return {str(path.relative_to(ROOT)): found for path in paths if (found := too_much(path))}


def test_rooms_import_one_way() -> None:
    def later(path: Path) -> set[str]:
        return rooms_imported(path) - {"__version__", *ROOMS[: ROOMS.index(room_of(path)) + 1]}

    assert offenders(COMPILER, later) == {}


def test_the_compiler_knows_no_target() -> None:
    assert offenders(COMPILER, lambda path: roots_imported(path) & {"rcc_targets"}) == {}


def test_of_the_node_the_compiler_knows_the_layout_alone() -> None:
    def of_the_node(path: Path) -> set[str]:
        allowed = {"rcc_node.layout"} if room_of(path) == "staging" else set()
        return {dotted for dotted in imported(path) if dotted.startswith("rcc_node")} - allowed

    assert offenders(COMPILER, of_the_node) == {}


def test_targets_know_plan_and_emit_alone() -> None:
    assert offenders(OF_TARGETS, lambda path: rooms_imported(path) - OF_RCC_FOR_TARGETS) == {}


def test_only_dependencies_that_are_accounted_for() -> None:
    def foreign(path: Path) -> set[str]:
        ours = {"rcc_node"} if tree_of(path) == "rcc_node" else {"rcc", "rcc_node", "rcc_schema", "rcc_targets"}
        return roots_imported(path) - sys.stdlib_module_names - ours - THIRD_PARTY[tree_of(path)]

    assert offenders(FILES, foreign) == {}


def test_passes_look_at_their_input_alone() -> None:
    passes = [path for path in COMPILER if room_of(path) not in OUTWARD_ROOMS and path != CACHE]

    assert offenders(passes, lambda path: roots_imported(path) & OUTWARD | attributes(path) & ASKING) == {}


def test_files_are_small() -> None:
    lines = [path.read_text().count("\n") for path in ALL_PYTHON if path.name != "__init__.py"]

    assert statistics.median(lines) < 100
    assert [path for path in ALL_PYTHON if path.stat().st_size > LARGEST] == []


def defined(path: Path) -> set[str]:
    """What a module calls something at its top."""
    names = set[str]()
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {one.id for one in targets if isinstance(one, ast.Name)}
    return {name for name in names if not name.startswith("__")}


def test_nothing_is_defined_that_is_named_nowhere_else() -> None:
    used = [ROOT / "pyproject.toml", *(path for tree in ("targets", "tools") for path in (ROOT / tree).rglob("*.*"))]
    texts = [path.read_text() for path in {*FILES, *used} if path.suffix in (".j2", ".py", ".toml")]
    named = Counter(word for text in texts for word in re.findall(r"\w+", text))

    assert offenders(FILES, lambda path: {name for name in defined(path) if named[name] == 1}) == {}


def test_nothing_is_left_for_later() -> None:
    later = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    others = [path for path in ALL_PYTHON if path != Path(__file__)]

    assert offenders(others, lambda path: set(later.findall(path.read_text()))) == {}


def test_no_group_is_repeated_possessively() -> None:
    """Python before 3.11.5 gets `(?:…)*+` wrong where the group holds a choice; of one character it is right."""
    grammars = sorted(TREES["rcc"].rglob("*.lark"))
    assert grammars

    assert offenders([*FILES, *grammars], lambda path: set(re.findall(r"\)[*+?]\+", path.read_text()))) == {}
