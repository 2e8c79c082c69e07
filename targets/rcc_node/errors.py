"""What goes wrong on a node, in words for the person who reads it."""

from __future__ import annotations

USER = 1
USAGE = 2
BUG = 3


class NodeError(Exception):
    """A refusal or a failure: a short kebab `name`, what is wrong, what to do, and the exit status."""

    def __init__(self, name: str, message: str, help: str, status: int = USER) -> None:
        super().__init__(message)
        self.name = name
        self.message = message
        self.help = help
        self.status = status
