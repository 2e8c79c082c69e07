"""Changes the user's own files: whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import unified_diff
from io import StringIO
from itertools import takewhile

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


_COMPARED = 1_500
"""How many lines are compared with one another; what differs in a longer file is shown as a whole."""
_CONTEXT = 3


def difference(name: str, before: str, after: str) -> str:
    """A unified diff of a file's texts, empty where they are the same."""
    old, new = _lines(before), _lines(after)
    few = max(len(old), len(new)) <= _COMPARED
    lines = unified_diff(old, new, name, name, n=_CONTEXT) if few else _as_a_whole(name, old, new)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """The lines as `patch` and TOML divide them: other line ends of Unicode's are characters of a line."""
    return list(StringIO(text, newline="\n"))


def _as_a_whole(name: str, old: list[str], new: list[str]) -> Iterator[str]:
    """The same, from the first line that differs to the last one."""
    if old == new:
        return
    start = _alike(old, new)
    same = _alike(old[start:][::-1], new[start:][::-1])
    above, below = old[max(start - _CONTEXT, 0) : start], old[len(old) - same :][:_CONTEXT]
    gone, come = old[start : len(old) - same], new[start : len(new) - same]
    first, around = start - len(above) + 1, len(above) + len(below)
    yield from (f"--- {name}\n", f"+++ {name}\n")
    yield f"@@ -{first},{len(gone) + around} +{first},{len(come) + around} @@\n"
    for mark, lines in ((" ", above), ("-", gone), ("+", come), (" ", below)):
        yield from (mark + line for line in lines)


def _alike(some: list[str], others: list[str]) -> int:
    """With how many lines both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(some, others, strict=False)))
