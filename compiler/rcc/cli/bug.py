"""What to paste into a report when rcc itself is at fault."""

from __future__ import annotations

import platform
import traceback
from pathlib import Path

from rcc import __version__


def report(error: BaseException) -> str:
    """The traceback with versions. Of what rcc was given it shows the kind of the error, never a value: no secrets."""
    lines = [
        "error: this is a bug in rcc, not in your files\n",
        "  = help: report it with the lines below and, if you may, the files that led to it\n",
        "\n",
        f"rcc {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}\n",
    ]
    for frame in traceback.extract_tb(error.__traceback__):
        lines.append(f"  {_below_package(frame.filename)}:{frame.lineno} in {frame.name}: {frame.line}\n")
    return "".join([*lines, f"{type(error).__name__}\n"])


def _below_package(filename: str) -> str:
    """A source file's name without the folders above the package: they may name a person."""
    return "/".join(Path(filename).parts[-3:])
