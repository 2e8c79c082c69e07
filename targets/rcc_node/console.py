"""Where a command's words go: results to stdout, progress and errors to stderr."""

from __future__ import annotations

import json
import sys
from typing import Any

from rcc_node.errors import NodeError
from rcc_node.progress import Progress


class Console:
    """The terminal, or with `as_json` one JSON document on stdout at the end and lines for people on stderr."""

    def __init__(self, as_json: bool = False, quiet: bool = False) -> None:
        self._json = as_json
        self._quiet = quiet

    def say(self, text: str) -> None:
        """A line of the result."""
        if not self._quiet:
            print(text, file=sys.stderr if self._json else sys.stdout, flush=True)

    def note(self, text: str) -> None:
        """A line about what happens meanwhile."""
        print(text, file=sys.stderr, flush=True)

    def progress(self, label: str, total: int) -> Progress:
        return Progress(label, total, None if self._quiet else sys.stderr)

    def error(self, error: NodeError) -> None:
        print(f"error[{error.name}]: {error.message}\n  = help: {error.help}", file=sys.stderr, flush=True)

    def result(self, command: str, status: int, values: dict[str, Any]) -> None:
        """The JSON document, where it is asked for."""
        if self._json:
            print(json.dumps({"version": 1, "command": command, "status": status, **values}), flush=True)
