"""The pages of the codes: what `--explain` prints, what docs/reference/codes/ is made of, and the tests' cases."""

from __future__ import annotations

import re
from pathlib import Path

from rcc.codes import CODES
from rcc.quick import dataclass

FOLDER = Path(__file__).with_name("pages")
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the name of the file that it stands for, and its text."""

    language: str
    name: str | None
    text: str


def page(code: str) -> str | None:
    """A code's page in Markdown, with its title; None where nobody has written it."""
    path = FOLDER / f"{code}.md"
    if code not in CODES or not path.is_file():
        return None
    one = CODES[code]
    head = f"# {code} {one.name}\n\n{one.title[:1].upper()}{one.title[1:]}. Severity: {one.severity}.\n\n"
    return head + path.read_text("utf-8")


def section(text: str, title: str) -> str:
    """What stands under a heading of a page; empty where there is none."""
    match = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return match[1].strip("\n") + "\n" if match else ""


def blocks(text: str) -> tuple[Block, ...]:
    """The fenced blocks of a section."""
    return tuple(Block(*match.groups()) for match in _BLOCK.finditer(text))


def index() -> str:
    """The list of all codes in Markdown."""
    lines = [
        "# Codes",
        "",
        "`rcc lint --explain CODE` prints a page. A code is never used again for something else.",
        "",
    ]
    lines += ["| code | name | severity | what |", "|---|---|---|---|"]
    for code, one in CODES.items():
        shown = f"[{code}]({code}.md)" if (FOLDER / f"{code}.md").is_file() else code
        lines.append(f"| {shown} | {one.name} | {one.severity} | {one.title} |")
    return "\n".join(lines) + "\n"
