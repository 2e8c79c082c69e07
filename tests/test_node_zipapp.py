"""The archive itself, and its command line."""

from __future__ import annotations

import ast
import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from rcc_node.build import zipapp
from rcc_node.preflight import CHECKS
from tests.support.checkpoint import make, standard
from tests.support.node import rows_node
from tests.support.paths import ROOT

PACKAGE = ROOT / "targets" / "rcc_node"
OLDEST = (3, 10)


@pytest.fixture(scope="module")
def archive() -> bytes:
    return zipapp()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, archive: bytes) -> Path:
    path = tmp_path_factory.mktemp("node") / "rcc-node.pyz"
    path.write_bytes(archive)
    return path


def run(program: Path, *arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", str(program), *arguments], capture_output=True, text=True, env=os.environ | options
    )


def test_small_and_stored(archive: bytes) -> None:
    assert len(archive) <= 128 * 1000
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        entries = opened.infolist()
    assert [entry.filename for entry in entries] == sorted(entry.filename for entry in entries)
    assert {entry.compress_type for entry in entries} == {zipfile.ZIP_STORED}
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert not [entry.filename for entry in entries if not entry.filename.endswith((".py", ".sh"))]


def test_the_same_bytes_from_another_folder(archive: bytes, tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "rcc_node", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (tmp_path / "rcc_node").rglob("*"):
        os.utime(path, (1, 1))
        path.chmod(0o700)
    code = "import sys; from rcc_node.build import zipapp; sys.stdout.buffer.write(zipapp())"
    environment = {"PYTHONPATH": str(tmp_path), "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment, cwd=tmp_path)
    assert done.stdout == archive


def test_lines_keep_their_numbers(archive: bytes) -> None:
    """A traceback from a node leads to the right line of the source."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        names = [name for name in opened.namelist() if name.startswith("rcc_node/") and name.endswith(".py")]
        assert len(names) > 20
        for name in names:
            packed = ast.parse(opened.read(name), feature_version=OLDEST)
            source = ast.parse((PACKAGE.parent / name).read_text())
            assert functions(packed) == functions(source)
            assert ast.dump(packed) == ast.dump(WithoutDocstrings().visit(source))
            assert code(packed) == code(source)


def code(tree: ast.Module) -> str:
    """The tree without docstrings, and without what stands in their place."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not isinstance(one, ast.Pass) and not _is_docstring(one)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class WithoutDocstrings(ast.NodeTransformer):
    """Leaves out statements that are nothing but a string, with `pass` where nothing is left."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            node.body = [statement for statement in node.body if not is_string(statement)]
            if not node.body and not isinstance(node, ast.Module):
                node.body.append(ast.Pass())
        return node


def is_string(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def functions(tree: ast.Module) -> list[tuple[str, int]]:
    return [(node.name, node.lineno) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def test_standard_library_alone() -> None:
    modules = sorted(PACKAGE.glob("*.py"))
    assert modules
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.split(".")[0] in {*sys.stdlib_module_names, "rcc_node"}, f"{path.name} imports {name}"


def oldest_python() -> str:
    """A Python 3.10 where there is one, else the one that runs the tests."""
    installed = [*Path.home().glob(".pyenv/versions/3.10*/bin/python3"), Path("/usr/bin/python3.10")]
    return next((str(path) for path in installed if path.exists()), sys.executable)


def test_runs_on_the_oldest_python_here(program: Path, tmp_path: Path) -> None:
    oldest = oldest_python()
    node = rows_node(tmp_path, make(tmp_path, standard(40, 50)))
    command = [oldest, "-I", str(program), *node.command("stage", "--json")[3:]]
    for state in ("packed", "verified"):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["blocks"][0]["state"] == state


def test_the_archive_stages(program: Path, tmp_path: Path) -> None:
    node = rows_node(tmp_path, make(tmp_path, standard(40, 50)))
    arguments = node.command("stage")[3:]
    assert run(program, *arguments).returncode == 0
    assert run(program, "verify", "--full", *arguments[1:]).returncode == 0


def test_the_reference_has_every_message_and_every_key() -> None:
    page = (ROOT / "docs" / "reference" / "node.md").read_text()
    sources = [path.read_text() for path in PACKAGE.glob("*.py")]
    names = {name for text in sources for name in re.findall(r'(?:NodeError|Error)\(\s*"([a-z-]+)"', text)}
    keys = set(re.findall(r'take\("([a-z_]+)"', (PACKAGE / "plan.py").read_text()))
    assert len(names) > 20
    assert len(keys) > 30
    missing = sorted(word for word in {*names, *keys, *CHECKS} if f"`{word}`" not in page)
    assert missing == []


@pytest.mark.parametrize("arguments", [(), ("launch",), ("stage",), ("stage", "--plan", "x", "--rank", "one")])
def test_usage_is_exit_2(program: Path, arguments: tuple[str, ...]) -> None:
    assert run(program, *arguments).returncode == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 2}, "version 1"),
        ({"world": 0}, "`world`"),
        ({"rank": 4}, "4 ranks"),
        ({"blocks": [{}]}, "lacks `kind`"),
        ({"surprise": 1}, "unknown key `surprise`"),
        ({"preflight": {"ports": ["x"]}}, "`ports`"),
        ({"preflight": {"ports": [65536]}}, "`ports`"),
        ({"preflight": {"image": "\ud800"}}, "surrogates"),
        ([], "no table"),
    ],
)
def test_an_unreadable_plan_is_exit_2(program: Path, tmp_path: Path, change: object, said: str) -> None:
    plan: object = {"version": 1, "id": "a", "plan": None, "rank": 0, "world": 4, "blocks": []}
    path = tmp_path / "stage.json"
    path.write_text(json.dumps(plan | change if isinstance(change, dict) and isinstance(plan, dict) else change))
    done = run(program, "stage", "--plan", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error[plan-unreadable]: ")
    assert said in done.stderr


@pytest.mark.parametrize("key", ["src", "dst", "manifest", "rate_limit", "tiling", "rows"])
def test_wrong_values_of_a_block_are_named(program: Path, tmp_path: Path, key: str) -> None:
    block = {"id": "a", "kind": "sparse-rows", "src": "/a", "dst": "/b"}
    bad = {"src": "a", "dst": 1, "manifest": "a/b", "rate_limit": 0, "tiling": "ceil", "rows": {"1": [1]}}[key]
    path = tmp_path / "stage.json"
    plan = {"version": 1, "id": "a", "rank": 0, "world": 1, "blocks": [block | {key: bad}]}
    path.write_text(json.dumps(plan))
    done = run(program, "stage", "--plan", str(path))
    assert done.returncode == 2
    assert f"`{key}`" in done.stderr


def test_the_rank_may_come_from_the_command_line(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "stage.json"
    path.write_text(json.dumps({"version": 1, "id": "a", "world": 2, "blocks": []}))
    assert run(program, "stage", "--plan", str(path), "--rank", "1").returncode == 0
    assert run(program, "stage", "--plan", str(path)).returncode == 2
    assert run(program, "stage", "--plan", str(path), "--rank", "2").returncode == 2
    assert run(program, "stage", "--plan", str(tmp_path / "none.json")).returncode == 2
    done = subprocess.run(
        [sys.executable, "-I", str(program), "stage", "--plan", "-", "--rank", "0"], input=path.read_bytes()
    )
    assert done.returncode == 0


@pytest.mark.parametrize("colour", [True, False])
def test_a_terminal_gets_a_bar(program: Path, tmp_path: Path, colour: bool) -> None:
    node = rows_node(tmp_path, make(tmp_path, standard(2000, 3000)), rate_limit=300 << 10)
    master, slave = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"}
    command = [sys.executable, "-I", str(program), *node.command("stage")[3:]]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=slave, env=environment | ({} if colour else {"NO_COLOR": "1"})
    )
    os.close(slave)
    seen = b""
    try:
        while data := os.read(master, 4096):
            seen += data
    except OSError:  # the terminal's other end is closed
        pass
    os.close(master)
    process.communicate()
    assert process.returncode == 0
    assert b"engram: packing: " in seen
    assert b"/s, " in seen
    assert b" left" in seen
    assert (b"\x1b[32m" in seen) is colour
    assert seen.endswith(b"\r\x1b[K")
