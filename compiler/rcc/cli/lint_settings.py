"""The settings that count for a file that is linted."""

from __future__ import annotations

import os
from functools import cache

from rcc.cli.settings import find_settings
from rcc.diagnostic import Findings
from rcc.lint.settings import Choices, read_choices


@cache
def choices_at(folder: str) -> tuple[Choices, Findings]:
    """The choices of the nearest settings at or above a folder, and what is wrong with them."""
    settings, found = find_settings(folder)
    if settings is None:
        return Choices(), found
    choices, more = read_choices(settings.values, settings.place, settings.path)
    return choices, (*found, *more)


def choices_for(name: str) -> tuple[Choices, Findings]:
    """The choices that count for a file."""
    return choices_at(os.path.dirname(name) or ".")
