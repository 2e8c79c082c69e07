"""Packs this package as `rcc-node.pyz`, the same bytes from the same sources."""

from __future__ import annotations

import io
import re
from functools import cache
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

_HERE = Path(__file__).parent
_EARLIEST = (1980, 1, 1, 0, 0, 0)
_MAIN = "__main__.py"
_DEEPEST = 10
_DOCSTRING = re.compile(r'(?m)^( *)"""[\s\S]*?"""$')


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
    """A module without docstrings, comments and wide indents: a node reads it at each run. Lines keep their numbers."""
    lines = _DOCSTRING.sub(_nothing, text).split("\n")
    code = "\n".join(_uncommented(line) if "#" in line else line for line in lines)
    for depth in range(_DEEPEST):
        code = code.replace("\n" + " " * (depth + 4), "\n" + " " * (depth + 1))
    return code


def _uncommented(line: str) -> str:
    """What the house's formatter makes of comments; a `#` in a string has the string's quote behind it."""
    if line.lstrip().startswith("#"):
        return ""
    code, _, comment = line.rpartition("  # ")
    return line if not code or "'" in comment or '"' in comment else code


def _nothing(docstring: re.Match[str]) -> str:
    """As many lines; where nothing else stands in its block, a statement in its place."""
    after = docstring.string[docstring.end() :].lstrip("\n")
    alone = not after.startswith(docstring[1])
    return (f"{docstring[1]}pass" if alone else "") + "\n" * docstring[0].count("\n")
