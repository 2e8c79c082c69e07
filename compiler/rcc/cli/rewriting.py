"""Changes the user's own files: whole or not at all."""

from __future__ import annotations

import os
from difflib import unified_diff

from rcc.diagnostic import Findings, finding
from rcc.source import whole


def rewrite(name: str, before: bytes, text: str) -> Findings:
    """Puts a text in the place of a file's, which keeps its mode; a link stays one.

    A file that does not hold `before` any more is another's work by now: it stays, and the finding says so.
    """
    real = os.path.realpath(name)
    unfinished = f"{real}.rcc-{os.getpid()}"
    try:
        with open(unfinished, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        os.chmod(unfinished, os.stat(real).st_mode & 0o7777)
        with open(real, "rb") as file:
            changed = file.read() != before
        if changed:
            os.unlink(unfinished)
            message = f"`{name}` was changed meanwhile, and is left as it is"
            return (finding("RCC007", message, whole(name), help="run the command again"),)
        os.replace(unfinished, real)
        return ()
    except BaseException:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        raise


def difference(name: str, before: str, after: str) -> str:
    """A unified diff of a file's texts, empty where they are the same."""
    lines = unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
