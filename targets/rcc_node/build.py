"""Packs this package as `rcc-node.pyz`, the same bytes from the same sources."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

_HERE = Path(__file__).parent
_EARLIEST = (1980, 1, 1, 0, 0, 0)
_MAIN = "__main__.py"


@cache
def zipapp() -> bytes:
    """The archive: sources alone, sorted, stored as they are, with fixed dates and modes."""
    modules = [path for path in _HERE.glob("*.py") if path.name not in (Path(__file__).name, _MAIN)]
    members = {f"rcc_node/{path.name}": _bare(path.read_text("utf-8")) for path in modules}
    members[_MAIN] = _bare((_HERE / _MAIN).read_text("utf-8"))
    members["rcc_node/enter/gid.sh"] = (_HERE / "enter" / "gid.sh").read_text("utf-8")
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_STORED) as archive:
        for name, text in sorted(members.items()):
            archive.writestr(_entry(name), text.encode())
    return buffer.getvalue()


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name, _EARLIEST)
    entry.create_system = 3  # the field would say where it was packed
    entry.external_attr = 0o100644 << 16
    return entry


def _bare(text: str) -> str:
    """A module without docstrings and comments, which a node compiles at each run; every line keeps its number."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
    for string in _docstrings(ast.parse(text)):
        for row in range(string.lineno, (string.end_lineno or string.lineno) + 1):
            lines[row - 1] = ""
    return "\n".join(lines) + "\n"


def _docstrings(tree: ast.Module) -> Iterator[ast.Expr]:
    """Statements that are nothing but a string, and not all that their block has."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and len(body) > 1:
            for statement in body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    yield statement
