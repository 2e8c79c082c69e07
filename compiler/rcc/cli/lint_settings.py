"""The settings that count for a file that is linted."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from rcc.diagnostic import Findings

if TYPE_CHECKING:
    from rcc.lint.settings import Choices


def choices_for(name: str) -> tuple[Choices | None, Findings]:
    """What the settings above a file choose, and what is wrong with them; None where there are none."""
    return choices_at(os.path.dirname(os.path.abspath(name)))


@cache
def choices_at(folder: str) -> tuple[Choices | None, Findings]:
    """The same for a folder."""
    if not _has_settings(folder):
        return None, ()
    from rcc.cli.settings import find_settings
    from rcc.lint.settings import read_choices

    settings, found = find_settings(folder)
    if settings is None:
        return None, found
    choices, more = read_choices(settings.values, settings.place, os.path.abspath(settings.folder))
    return choices, (*found, *more)


def _has_settings(folder: str) -> bool:
    """A look for a file that may hold settings, without reading it as TOML."""
    while True:
        if os.path.exists(os.path.join(folder, "rcc.toml")) or _is_ours(os.path.join(folder, "pyproject.toml")):
            return True
        parent = os.path.dirname(folder)
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            return False
        folder = parent


def _is_ours(path: str) -> bool:
    """Whether a `pyproject.toml` may hold a table of ours."""
    try:
        with open(path, "rb") as file:
            text = file.read().translate(None, b" \t\"'")
    except OSError:
        return False
    return b"tool.rcc" in text or b"\nrcc" in text
