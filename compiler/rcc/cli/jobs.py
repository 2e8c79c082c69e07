"""The `[[build]]` entries of the settings, for commands that were given no recipe."""

from __future__ import annotations

import click

from rcc.cli.settings import Build, builds, find_settings
from rcc.diagnostic import Findings, has_errors


def jobs_of_settings() -> tuple[tuple[Build, ...], Findings]:
    """All entries, or what is wrong with them; without any it is a matter of usage."""
    settings, found = find_settings()
    if settings is None and not has_errors(found):
        raise click.UsageError(
            "Name a recipe or its folder, `.` for this one: there is no rcc.toml with [[build]] entries here or above."
        )
    if settings is None:
        return (), found
    jobs, more = builds(settings)
    if not jobs and not more:
        raise click.UsageError(f"Name a recipe: {settings.document.source.name} has no [[build]] entry.")
    return jobs, (*found, *more)
