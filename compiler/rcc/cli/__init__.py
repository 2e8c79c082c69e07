"""The command line: reads, prints and exits. A file per command, imported when it is called."""

from __future__ import annotations

import gc

# What is imported stays. To look through it for garbage again and again takes a twentieth of a short command.
_collects = gc.isenabled()
gc.disable()

from rcc.cli.boundary import main  # noqa: E402
from rcc.cli.group import command_line  # noqa: E402

if _collects:
    gc.freeze()
    gc.enable()

__all__ = ["command_line", "main"]
