"""The command line: reads, prints and exits. A file per command, imported when it is called."""

from __future__ import annotations

from rcc.cli.boundary import main
from rcc.cli.group import command_line

__all__ = ["command_line", "main"]
