"""The files of a result, as golden files hold them."""

import hashlib
from collections.abc import Iterator
from pathlib import Path


def texts(result: Path) -> Iterator[tuple[str, str]]:
    """Each file's path and text; of the node's part, which is no text, its sha256 under a name that says so."""
    for path in sorted(result.rglob("*")):
        name = path.relative_to(result).as_posix()
        if path.suffix == ".pyz":
            yield f"{name}.sha256", f"{hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        elif path.is_file():
            yield name, path.read_bytes().decode()
