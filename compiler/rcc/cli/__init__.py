"""The command line: reads, prints and exits. A file per command, imported when it is called."""

from __future__ import annotations

import gc

# What is imported stays. To look through it for garbage again and again takes a twentieth of a short command.
_collects = gc.isenabled()
gc.disable()

from rcc.cli.boundary import main  # noqa: E402
from rcc.cli.group import command_line  # noqa: E402

# What a command makes of a file stays as well, up to the end: for the largest ones a search for garbage at every seven
# hundred objects, Python's own measure, takes a third of the time and finds next to nothing.
_OBJECTS = 50_000

if _collects:
    gc.freeze()
    gc.set_threshold(_OBJECTS)
    gc.enable()

__all__ = ["command_line", "main"]
