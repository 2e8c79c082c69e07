"""What to paste into a report when rcc itself is at fault."""

from __future__ import annotations

import os
import platform
import re
import traceback
from collections.abc import Mapping
from pathlib import Path

from rcc import __version__
from rcc.cli.render.harmless import harmless

LONGEST = 300
_SECRET_NAME = re.compile(r"TOKEN|KEY|SECRET|PASSW|AUTH|CREDENTIAL")
_SECRET_VALUE = re.compile(r"\b(hf|gh[opsu]|github_pat|sk|xox[a-z])[-_][A-Za-z0-9_-]{8,}|\bAKIA[A-Z0-9]{12,}")
_SHORTEST_SECRET = 6


def report(error: BaseException) -> str:
    """The traceback with versions; without secrets and without folders that name a person."""
    lines = [
        "error: this is a bug in rcc, not in your files",
        "  = help: report it with the lines below and, if you may, the files that led to it",
        "",
        f"rcc {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}",
    ]
    for frame in traceback.extract_tb(error.__traceback__):
        lines.append(f"  {_below_package(frame.filename)}:{frame.lineno} in {frame.name}: {frame.line}")
    message = without_secrets(str(error), os.environ)[:LONGEST]
    return "\n".join([*lines, f"{type(error).__name__}: {harmless(message)}", ""])


def without_secrets(text: str, environ: Mapping[str, str]) -> str:
    """A text in which nothing looks like a secret, is the value of a variable named like one, or names the home."""
    for name, value in environ.items():
        if _SECRET_NAME.search(name.upper()) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "***")
    home = environ.get("HOME", "")
    return _SECRET_VALUE.sub("***", text.replace(home, "~") if len(home) > 1 else text)


def _below_package(filename: str) -> str:
    """A source file's name without the folders above the package."""
    return "/".join(Path(filename).parts[-3:])
