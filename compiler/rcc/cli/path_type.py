"""The type of arguments that are paths."""

from __future__ import annotations

import click

PATH = click.Path(readable=False)
"""A file or folder, which a shell completes. Whether it is there, and can be read, the command finds out."""
