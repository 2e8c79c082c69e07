"""Writes the pages that are made from the code, or with `--check` says which are out of date."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from tools import cli_page, code_pages, engine_page, matrix_page, schema_pages

ROOT = Path(__file__).resolve().parent.parent

Pages = Callable[[], dict[str, str]]
"""Gives texts by their path from the repository's root."""

GENERATORS: tuple[Pages, ...] = (
    cli_page.pages,
    code_pages.pages,
    engine_page.pages,
    matrix_page.pages,
    schema_pages.pages,
)


def generated() -> dict[str, str]:
    """Every generated page."""
    return {path: text for pages in GENERATORS for path, text in pages().items()}


def stale() -> list[str]:
    """The generated pages that are missing or not what the code gives now."""
    return [path for path, text in sorted(generated().items()) if not _is(ROOT / path, text)]


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text("utf-8") == text


def main() -> int:
    """Writes, or checks; 1 where a page is out of date."""
    if "--check" in sys.argv[1:]:
        for path in stale():
            print(f"{path} is out of date: run `make docs`", file=sys.stderr)
        return bool(stale())
    for path, text in generated().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, "utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
